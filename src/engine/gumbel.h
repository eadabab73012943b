// Gumbel noise: sampling as argmax over tokens of score + noise, where noise[token] is a pure function of (seed,
// choice, position, purpose, token) (DESIGN R6). argmax of log p + Gumbel noise is distributed as p (Gumbel 1954; the
// "Gumbel-max trick"), and a token's noise does not depend on which other tokens are candidates, on neighbours or on
// the batch.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/candidates.h"

namespace brio::engine {

struct NoiseKey {
  uint64_t seed = 0;
  uint32_t choice = 0;
  uint32_t position = 0;  // of the token that is drawn, in its sequence
  uint32_t purpose = 0;   // 0: the target model's draw
};

class GumbelNoise {
 public:
  explicit GumbelNoise(const NoiseKey& key)
      : key_{static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)},
        tail_{key.position, key.choice, key.purpose} {}

  // 32 random bits for tokens 4 group .. 4 group + 3.
  std::array<uint32_t, 4> bits(uint32_t group) const;
  // -log(-log(u)), u = (bits + 1/2) 2^-32.
  static double from_bits(uint32_t bits);
  double of(int32_t token) const {
    return from_bits(bits(static_cast<uint32_t>(token) / 4)[static_cast<uint32_t>(token) % 4]);
  }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 3> tail_;
};

// The largest noise: -log(-log(1 - 2^-33)) = 33 ln 2.
inline constexpr double kMaxNoise = 22.88;

// argmax over all tokens of (logit - peak) * inverse_temperature + noise, ties to the lowest id. One pass: a logarithm
// is taken only for the few tokens whose bits could win. logits [vocab]; -inf never wins.
int32_t gumbel_argmax(std::span<const float> logits, float peak, float inverse_temperature, const NoiseKey& key);
// The same among candidates; at least one, in any order.
int32_t gumbel_argmax(std::span<const Candidate> candidates, const NoiseKey& key);

}  // namespace brio::engine
