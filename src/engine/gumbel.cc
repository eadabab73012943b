#include "engine/gumbel.h"

#include <algorithm>
#include <limits>

#include "base/rng.h"
#include "ops/logits.h"

namespace brio::engine {

std::array<uint32_t, 4> GumbelNoise::bits(uint32_t group) const {
  return philox({group, tail_[0], tail_[1], tail_[2]}, key_);
}

double GumbelNoise::from_bits(uint32_t bits) {
  const double u = (static_cast<double>(bits) + 0.5) * 0x1p-32;
  return -ops::log(-ops::log(u));
}

namespace {

// Whether noise from these bits may exceed `gap`. -log(u) >= 1 - u, so noise > gap needs 1 - u < exp(-gap), hence
// ~bits 2^-32 < 2^-floor(gap log2 e).
bool may_exceed(uint32_t bits, double gap) {
  if (!(gap > 0.0)) return true;  // NaN too: two banned tokens, -inf - -inf
  if (gap > kMaxNoise) return false;
  const int halvings = static_cast<int>(gap * 1.4426950408889634);
  if (halvings >= 32) return ~bits == 0;
  return (uint64_t{~bits} >> (32 - halvings)) == 0;
}

}  // namespace

int32_t gumbel_argmax(std::span<const float> logits, float peak, float inverse_temperature, const NoiseKey& key) {
  const GumbelNoise noise(key);
  double best = -std::numeric_limits<double>::infinity();
  int32_t best_token = 0;
  for (size_t group = 0; group * 4 < logits.size(); ++group) {
    const size_t begin = group * 4;
    const size_t end = std::min(begin + 4, logits.size());
    std::array<float, 4> scores;
    float top = -std::numeric_limits<float>::infinity();
    for (size_t i = begin; i < end; ++i) {
      scores[i - begin] = (logits[i] - peak) * inverse_temperature;
      top = std::max(top, scores[i - begin]);
    }
    if (top == -std::numeric_limits<float>::infinity()) continue;  // nothing here may be drawn
    if (best - static_cast<double>(top) > kMaxNoise) continue;
    const std::array<uint32_t, 4> bits = noise.bits(static_cast<uint32_t>(group));
    for (size_t i = begin; i < end; ++i) {
      const double score = static_cast<double>(scores[i - begin]);
      if (!may_exceed(bits[i - begin], best - score)) continue;
      const double perturbed = score + GumbelNoise::from_bits(bits[i - begin]);
      if (perturbed > best) {
        best = perturbed;
        best_token = static_cast<int32_t>(i);
      }
    }
  }
  return best_token;
}

int32_t gumbel_argmax(std::span<const Candidate> candidates, const NoiseKey& key) {
  const GumbelNoise noise(key);
  double best = -std::numeric_limits<double>::infinity();
  int32_t best_token = candidates[0].token;
  for (const Candidate& candidate : candidates) {
    const double perturbed = static_cast<double>(candidate.score) + noise.of(candidate.token);
    if (perturbed > best || (perturbed == best && candidate.token < best_token)) {
      best = perturbed;
      best_token = candidate.token;
    }
  }
  return best_token;
}

}  // namespace brio::engine
