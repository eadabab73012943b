#include "kernels/reference/attention_reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/reference/row_reference.h"

namespace brio::kernels::reference {
namespace {

constexpr int kSplit = 256;

struct Partial {
  float max;
  float sum;
  std::vector<float> out;
};

// Index of the i-th element met: bf16 pairs are met odd first.
int in_order(bool bf16, int i) {
  return bf16 ? i ^ 1 : i;
}

float score(const std::vector<float>& q, const AttentionKeys& keys, int token, float softcap) {
  const float* k = &keys.k[static_cast<size_t>(token) * static_cast<size_t>(keys.head_dim)];
  float acc = 0.0F;
  for (int i = 0; i < keys.head_dim; ++i) {
    const int d = in_order(keys.bf16, i);
    acc = std::fma(q[static_cast<size_t>(d)], k[d], acc);
  }
  return softcap > 0.0F ? softcap * tanh(acc / softcap) : acc;
}

// One split, of which tokens [begin, end) are seen; origin is its first token.
Partial attend(const std::vector<float>& q, const AttentionKeys& keys, int origin, int begin, int end, float softcap) {
  std::vector<float> scores(kSplit, -INFINITY);
  float max = -INFINITY;
  for (int t = begin; t < end; ++t) {
    scores[static_cast<size_t>(t - origin)] = score(q, keys, t, softcap);
    max = std::max(max, scores[static_cast<size_t>(t - origin)]);
  }
  float lanes[16] = {};
  std::vector<float> p(kSplit);
  for (int i = 0; i < kSplit; ++i) {
    const float probability = exp(scores[static_cast<size_t>(i)] - max);
    lanes[i % 16] += probability;
    p[static_cast<size_t>(i)] = keys.bf16 ? round_bf16(probability) : probability;
  }
  Partial partial = {max, sum_lanes(lanes), std::vector<float>(static_cast<size_t>(keys.head_dim))};
  for (int i = 0; i < kSplit; ++i) {
    const int t = origin + in_order(keys.bf16, i);
    if (t < begin || t >= end) continue;
    for (int d = 0; d < keys.head_dim; ++d) {
      const float v = keys.v[static_cast<size_t>(t) * static_cast<size_t>(keys.head_dim) + static_cast<size_t>(d)];
      float& out = partial.out[static_cast<size_t>(d)];
      out = std::fma(p[static_cast<size_t>(t - origin)], v, out);
    }
  }
  return partial;
}

void merge(Partial& state, const Partial& split) {
  const float max = state.max > split.max ? state.max : split.max;
  const float keep = exp(state.max - max);
  const float take = exp(split.max - max);
  state.max = max;
  state.sum = std::fma(state.sum, keep, split.sum * take);
  for (size_t d = 0; d < state.out.size(); ++d) state.out[d] = std::fma(state.out[d], keep, split.out[d] * take);
}

}  // namespace

std::vector<float> attention(const float* q, const AttentionKeys& keys, int begin, int end, float scale,
                             float softcap) {
  std::vector<float> query(static_cast<size_t>(keys.head_dim));
  for (int d = 0; d < keys.head_dim; ++d) {
    query[static_cast<size_t>(d)] = keys.bf16 ? round_bf16(q[d] * scale) : q[d] * scale;
  }
  Partial state = {};
  for (int origin = begin / kSplit * kSplit; origin < end; origin += kSplit) {
    Partial split = attend(query, keys, origin, std::max(begin, origin), std::min(end, origin + kSplit), softcap);
    if (state.out.empty()) {
      state = std::move(split);
    } else {
      merge(state, split);
    }
  }
  for (float& out : state.out) out = (out + 0.0F) / state.sum;
  return state.out;
}

Quantised quantise(std::span<const float> x, int largest) {
  Quantised out = {std::vector<int>(x.size(), 0), 0.0F};
  float amax = 0.0F;
  for (const float value : x) {
    if (!std::isfinite(value)) {
      out.scale = NAN;
      return out;
    }
    amax = std::max(amax, std::fabs(value));
  }
  if (amax < 0x1p-110F) return out;
  const float inverse = static_cast<float>(largest) / amax;
  for (size_t i = 0; i < x.size(); ++i) out.integers[i] = static_cast<int>(std::nearbyint(x[i] * inverse));
  out.scale = amax / static_cast<float>(largest);
  return out;
}

std::vector<float> attention(const float* q, const Int8AttentionKeys& keys, int begin, int end, float scale,
                             float softcap) {
  const size_t dims = static_cast<size_t>(keys.head_dim);
  std::vector<float> scaled(dims);
  for (size_t d = 0; d < dims; ++d) scaled[d] = q[d] * scale;
  const Quantised query = quantise(scaled, 32512);
  Partial state = {};
  for (int origin = begin / kSplit * kSplit; origin < end; origin += kSplit) {
    const int first = std::max(begin, origin);
    const int last = std::min(end, origin + kSplit);
    std::vector<float> scores(kSplit, -INFINITY);
    float max = -INFINITY;
    for (int t = first; t < last; ++t) {
      int64_t sum = 0;
      for (size_t d = 0; d < dims; ++d) sum += query.integers[d] * keys.k[static_cast<size_t>(t) * dims + d];
      float score = static_cast<float>(sum) * keys.k_scale[static_cast<size_t>(t)] * query.scale;
      if (softcap > 0.0F) score = softcap * tanh(score / softcap);
      scores[static_cast<size_t>(t - origin)] = score;
      max = std::max(max, score);
    }
    float lanes[16] = {};
    std::vector<float> weights(kSplit);
    for (int i = 0; i < kSplit; ++i) {
      const float p = exp(scores[static_cast<size_t>(i)] - max);
      lanes[i % 16] += p;
      const int t = origin + i;
      if (t >= first && t < last) weights[static_cast<size_t>(i)] = p * keys.v_scale[static_cast<size_t>(t)];
    }
    const Quantised weight = quantise(weights, 32512);
    Partial split = {max, sum_lanes(lanes), std::vector<float>(dims)};
    for (size_t d = 0; d < dims; ++d) {
      int64_t sum = 0;
      for (int t = first; t < last; ++t) {
        sum += weight.integers[static_cast<size_t>(t - origin)] * keys.v[static_cast<size_t>(t) * dims + d];
      }
      split.out[d] = static_cast<float>(sum) * weight.scale;
    }
    if (state.out.empty()) {
      state = std::move(split);
    } else {
      merge(state, split);
    }
  }
  for (float& out : state.out) out = (out + 0.0F) / state.sum;
  return state.out;
}

std::vector<double> exact_attention(const float* q, const AttentionKeys& keys, int begin, int end, float scale,
                                    float softcap) {
  std::vector<double> scores;
  for (int t = begin; t < end; ++t) {
    double s = 0.0;
    for (int d = 0; d < keys.head_dim; ++d) {
      s += static_cast<double>(q[d]) *
           static_cast<double>(
               keys.k[static_cast<size_t>(t) * static_cast<size_t>(keys.head_dim) + static_cast<size_t>(d)]);
    }
    s *= scale;
    scores.push_back(softcap > 0.0F ? softcap * std::tanh(s / softcap) : s);
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  std::vector<double> out(static_cast<size_t>(keys.head_dim));
  double sum = 0.0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double p = std::exp(scores[i] - max);
    sum += p;
    for (size_t d = 0; d < out.size(); ++d) {
      out[d] += p * static_cast<double>(keys.v[(static_cast<size_t>(begin) + i) * out.size() + d]);
    }
  }
  for (double& o : out) o /= sum;
  return out;
}

}  // namespace brio::kernels::reference
