#include "model/key_factors.h"

#include <cmath>

namespace brio::model {
namespace {

// Keys stay below bias + 4 spreads but for one in some thousands.
constexpr double kSpreads = 4.0;

// The channel of a head that this one is rotated with; itself where it is not rotated.
int partner(int channel, const ops::RopeSpec& rope) {
  if (channel >= rope.rotary_dim) return channel;
  if (rope.interleaved) return channel ^ 1;
  const int half = rope.rotary_dim / 2;
  return channel < half ? channel + half : channel - half;
}

}  // namespace

std::vector<float> key_factors(std::span<const float> spread, std::span<const float> bias, int head_dim,
                               const ops::RopeSpec& rope) {
  const auto square = [&](size_t channel) {
    const double b = bias.empty() ? 0.0 : double{bias[channel]};
    const double s = kSpreads * double{spread[channel]};
    return b * b + s * s;
  };
  std::vector<float> factors;
  for (size_t i = 0; i < spread.size(); ++i) {
    const size_t channel = i % static_cast<size_t>(head_dim);
    const size_t other = i - channel + static_cast<size_t>(partner(static_cast<int>(channel), rope));
    // Both channels of a pair add in the same order.
    const double sum = i < other ? square(i) + square(other) : square(other) + square(i);
    const auto factor = static_cast<float>(std::sqrt(sum / 2));
    factors.push_back(std::isnormal(factor) ? factor : 1.0F);
  }
  return factors;
}

}  // namespace brio::model
