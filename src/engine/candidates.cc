#include "engine/candidates.h"

#include <algorithm>

#include "ops/logits.h"

namespace brio::engine {
namespace {

double mass(const Candidate& candidate) {
  return ops::exp(static_cast<double>(candidate.score));
}

void select_above(std::span<const float> logits, float peak, float scale, double lowest, std::vector<Candidate>& out) {
  out.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    const float score = (logits[i] - peak) * scale;
    if (static_cast<double>(score) >= lowest) out.push_back({score, static_cast<int32_t>(i)});
  }
}

// Keeps the smallest head of the ordered candidates whose mass reaches top_p of the total.
void cut_top_p(double top_p, double total, std::vector<Candidate>& candidates) {
  double reached = 0.0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    reached += mass(candidates[i]);
    if (reached >= top_p * total) {
      candidates.resize(i + 1);
      return;
    }
  }
}

}  // namespace

void select_top_k(std::span<const float> logits, float peak, float scale, int k, std::vector<Candidate>& out) {
  out.clear();
  const size_t wanted = std::min(static_cast<size_t>(k), logits.size());
  if (wanted == 0) return;
  for (size_t i = 0; i < logits.size(); ++i) {
    const Candidate candidate{(logits[i] - peak) * scale, static_cast<int32_t>(i)};
    if (out.size() < wanted) {
      out.push_back(candidate);
      std::push_heap(out.begin(), out.end(), likelier);  // the least likely on top
    } else if (likelier(candidate, out.front())) {
      std::pop_heap(out.begin(), out.end(), likelier);
      out.back() = candidate;
      std::push_heap(out.begin(), out.end(), likelier);
    }
  }
  std::sort_heap(out.begin(), out.end(), likelier);
}

void filter(std::span<const float> logits, float peak, float inverse_temperature, const SamplingParams& sampling,
            std::vector<Candidate>& out) {
  const double top_p = static_cast<double>(sampling.top_p);
  const double min_score = sampling.min_p > 0.0F ? ops::log(static_cast<double>(sampling.min_p)) : -1e300;
  if (sampling.top_k > 0) {
    select_top_k(logits, peak, inverse_temperature, sampling.top_k, out);
    if (top_p < 1.0) {
      double total = 0.0;
      for (const Candidate& candidate : out) total += mass(candidate);
      cut_top_p(top_p, total, out);
    }
  } else if (top_p < 1.0) {
    // All tokens of mass below (1 - top_p) / V together have less than 1 - top_p: none of them is in the set.
    const double total = ops::sum_exp(logits, peak, inverse_temperature);
    const double lowest = ops::log((1.0 - top_p) * total / static_cast<double>(logits.size()));
    select_above(logits, peak, inverse_temperature, std::min(lowest, 0.0), out);
    std::sort(out.begin(), out.end(), likelier);
    cut_top_p(top_p, total, out);
  } else {
    select_above(logits, peak, inverse_temperature, min_score, out);
    return;
  }
  while (out.size() > 1 && static_cast<double>(out.back().score) < min_score) out.pop_back();
}

}  // namespace brio::engine
