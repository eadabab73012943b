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
