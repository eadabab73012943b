#include "ops/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace brio::ops {
namespace {

std::vector<float> random_row(uint64_t seed, size_t size) {
  Rng rng(seed);
  std::vector<float> row(size);
  for (float& x : row) x = std::round(rng.uniform(-20.0F, 20.0F) * 8.0F) / 8.0F;  // with ties
  return row;
}

TEST(Logits, PeakIsTheFirstOfTheLargest) {
  for (size_t size : {1U, 2U, 15U, 16U, 17U, 31U, 33U, 1000U}) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const std::vector<float> row = random_row(seed, size);
      const auto largest = std::max_element(row.begin(), row.end());
      const Peak peak = find_peak(row);
      ASSERT_TRUE(peak.finite);
      ASSERT_EQ(peak.index, largest - row.begin());
      ASSERT_EQ(peak.value, *largest);
    }
  }
}

TEST(Logits, PeakSeesAnyNonFiniteValue) {
  for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (size_t size : {1U, 16U, 19U, 40U}) {
      for (size_t at = 0; at < size; ++at) {
        std::vector<float> row = random_row(at, size);
        row[at] = bad;
        ASSERT_FALSE(find_peak(row).finite) << at << " of " << size;
      }
    }
  }
}

// fp32 exp of a rounded product: the sum's relative error is a few 2^-24 (the error of exp grows with its argument's
// own rounding, |x| 2^-24 at most 40 here, weighted by exp(x): below 2 for every term).
TEST(Logits, SumExpIsCloseToTheExactSum) {
  for (size_t size : {1U, 17U, 1024U, 1025U, 5000U}) {
    for (float scale : {0.5F, 1.0F, 2.0F}) {
      const std::vector<float> row = random_row(size, size);
      const float peak = find_peak(row).value;
      long double exact = 0.0L;
      for (float x : row) exact += std::exp((static_cast<long double>(x) - peak) * scale);
      EXPECT_NEAR(sum_exp(row, peak, scale) / static_cast<double>(exact), 1.0, 8 * 0x1p-24);
    }
  }
  const std::vector<float> masked = {1.0F, -std::numeric_limits<float>::infinity(), 1.0F};
  EXPECT_EQ(sum_exp(masked, 1.0F, 1.0F), 2.0);
}

}  // namespace
}  // namespace brio::ops
