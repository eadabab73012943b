#include "ops/rope_table.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernels/math.h"

namespace brio::ops {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// Llama 3.1: long waves (few turns within the original context) are stretched by `factor`, short ones kept, blended between.
// The divisor is rounded to fp32, as GGUF files hold it (rope_freqs.weight), so that both kinds of file give equal bits.
double llama3_frequency(const RopeSpec& spec, double frequency) {
  const double turns = spec.original_context * frequency / kTwoPi;
  double divisor = 1.0;
  if (turns < spec.low_freq_factor) {
    divisor = spec.factor;
  } else if (turns <= spec.high_freq_factor) {
    const double keep = (turns - spec.low_freq_factor) / (spec.high_freq_factor - spec.low_freq_factor);
    divisor = 1.0 / ((1.0 - keep) / spec.factor + keep);
  }
  return frequency / static_cast<float>(divisor);
}

// The pair (a real number) that makes `turns` turns within the original context: solves
// turns = original_context base^(-2 pair / rotary_dim) / (2 pi).
double yarn_pair(const RopeSpec& spec, double turns) {
  return spec.rotary_dim * kernels::log(spec.original_context / (turns * kTwoPi)) / (2.0 * kernels::log(spec.base));
}

// YaRN "NTK by parts": pairs below `low` keep their frequency, above `high` are divided by factor, linear between.
double yarn_frequency(const RopeSpec& spec, double low, double high, int pair, double frequency) {
  const double ramp = std::clamp((pair - low) / std::max(high - low, 0.001), 0.0, 1.0);
  return frequency / spec.factor * ramp + frequency * (1.0 - ramp);
}

double magnitude_of(const RopeSpec& spec) {
  if (spec.scaling != RopeSpec::Scaling::kYarn) return 1.0;
  if (spec.attention_factor > 0.0) return spec.attention_factor;
  return (spec.factor > 1.0 ? 0.1 * kernels::log(spec.factor) + 1.0 : 1.0) * spec.attention_multiplier;
}

}  // namespace

std::vector<double> rope_frequencies(const RopeSpec& spec) {
  std::vector<double> frequencies(static_cast<size_t>(spec.rotary_dim / 2));
  double low = 0.0;
  double high = 0.0;
  if (spec.scaling == RopeSpec::Scaling::kYarn) {
    low = std::max(std::floor(yarn_pair(spec, spec.beta_fast)), 0.0);
    high = std::min(std::ceil(yarn_pair(spec, spec.beta_slow)), spec.rotary_dim - 1.0);
  }
  for (int pair = 0; pair < spec.rotary_dim / 2; ++pair) {
    double frequency = kernels::pow(spec.base, -2.0 * pair / spec.rotary_dim);
    switch (spec.scaling) {
      case RopeSpec::Scaling::kNone:
        break;
      case RopeSpec::Scaling::kLinear:
        frequency /= spec.factor;
        break;
      case RopeSpec::Scaling::kLlama3:
        frequency = llama3_frequency(spec, frequency);
        break;
      case RopeSpec::Scaling::kYarn:
        frequency = yarn_frequency(spec, low, high, pair, frequency);
        break;
    }
    if (!spec.frequency_factors.empty()) frequency /= spec.frequency_factors[static_cast<size_t>(pair)];
    frequencies[static_cast<size_t>(pair)] = frequency;
  }
  return frequencies;
}

RopeTable::RopeTable(RopeSpec spec)
    : spec_(std::move(spec)), frequencies_(rope_frequencies(spec_)), magnitude_(magnitude_of(spec_)) {
  BRIO_CHECK(spec_.rotary_dim > 0 && spec_.rotary_dim % 2 == 0, "rotary_dim {}", spec_.rotary_dim);
}

void RopeTable::extend(int32_t end) {
  const size_t width = static_cast<size_t>(spec_.rotary_dim);
  const size_t begin = values_.size() / width;
  if (end < 0 || static_cast<size_t>(end) <= begin) return;
  values_.resize(static_cast<size_t>(end) * width);
  for (size_t position = begin; position < static_cast<size_t>(end); ++position) {
    float* cos = &values_[position * width];
    float* sin = cos + width / 2;
    for (size_t pair = 0; pair < width / 2; ++pair) {
      const double angle = static_cast<double>(position) * frequencies_[pair];
      cos[pair] = static_cast<float>(kernels::cos(angle) * magnitude_);
      sin[pair] = static_cast<float>(kernels::sin(angle) * magnitude_);
    }
  }
}

}  // namespace brio::ops
