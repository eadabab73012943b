// Candidates: the tokens that top-k, top-p and min-p leave of a row of logits, and the k likeliest of a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/request.h"

namespace brio::engine {

struct Candidate {
  float score = 0.0F;  // (logit - peak) / temperature, at most 0
  int32_t token = 0;
};
// Likeliest first, ties to the lowest id.
inline bool likelier(const Candidate& a, const Candidate& b) {
  return a.score > b.score || (a.score == b.score && a.token < b.token);
}

// The k likeliest tokens, in order, with score (logit - peak) * scale. One pass with a heap of k: O(V + changes log k).
void select_top_k(std::span<const float> logits, float peak, float scale, int k, std::vector<Candidate>& out);

inline bool filters(const SamplingParams& sampling) {
  return sampling.top_k > 0 || sampling.top_p < 1.0F || sampling.min_p > 0.0F;
}
// What the filters keep, at least the likeliest token; in order unless only min-p filters.
void filter(std::span<const float> logits, float peak, float inverse_temperature, const SamplingParams& sampling,
            std::vector<Candidate>& out);

}  // namespace brio::engine
