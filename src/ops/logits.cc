#include "ops/logits.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/cpu.h"
#include "kernels/math.h"
#include "kernels/row.h"

namespace brio::ops {
namespace {

constexpr size_t kLanes = 16;

const kernels::RowKernels& best_row_kernels() {
  static const kernels::RowKernels& kernels = [&]() -> const kernels::RowKernels& {
    const Result<Isa> isa = choose_isa();
    return kernels::row_kernels(isa.ok() ? *isa : Isa::kScalar);
  }();
  return kernels;
}

}  // namespace

// Two plain passes that compilers vectorise: the largest value, then its first place.
Peak find_peak(std::span<const float> logits) {
  std::array<float, kLanes> largest;
  largest.fill(logits[0]);
  std::array<uint32_t, kLanes> exponents{};  // all ones: NaN or infinity
  const size_t body = logits.size() / kLanes * kLanes;
  for (size_t i = 0; i < body; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float x = logits[i + lane];
      largest[lane] = x > largest[lane] ? x : largest[lane];
      exponents[lane] |= (std::bit_cast<uint32_t>(x) & 0x7F800000U) == 0x7F800000U ? 1U : 0U;
    }
  }
  for (size_t i = body; i < logits.size(); ++i) {
    largest[0] = std::max(largest[0], logits[i]);
    exponents[0] |= (std::bit_cast<uint32_t>(logits[i]) & 0x7F800000U) == 0x7F800000U ? 1U : 0U;
  }
  Peak peak;
  for (uint32_t lane : exponents) peak.finite = peak.finite && lane == 0;
  if (!peak.finite) return peak;
  peak.value = *std::max_element(largest.begin(), largest.end());
  peak.index = static_cast<int32_t>(std::find(logits.begin(), logits.end(), peak.value) - logits.begin());
  return peak;
}

double sum_exp(std::span<const float> logits, float peak, float scale) {
  constexpr size_t kBlock = 1024;
  std::array<float, kBlock> values;
  std::array<double, kLanes> sums{};
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, logits.size() - begin);
    for (size_t i = 0; i < count; ++i) values[i] = (logits[begin + i] - peak) * scale;
    best_row_kernels().exp(values.data(), static_cast<int>(count), values.data());
    for (size_t i = 0; i < count; ++i) sums[i % kLanes] += static_cast<double>(values[i]);
  }
  double total = 0.0;
  for (double lane : sums) total += lane;
  return total;
}

double log(double x) {
  return kernels::log(x);
}
double exp(double x) {
  return kernels::exp(x);
}

}  // namespace brio::ops
