// Key factors: shared by the channels of a pair, as large as bias and spread say, never zero.
#include "model/key_factors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace brio::model {
namespace {

ops::RopeSpec rope(int rotary_dim, bool interleaved) {
  ops::RopeSpec spec;
  spec.rotary_dim = rotary_dim;
  spec.interleaved = interleaved;
  return spec;
}

TEST(KeyFactors, ChannelsRotatedTogetherShareOne) {
  const std::vector<float> spread = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // two heads of six
  const std::vector<float> halves = key_factors(spread, {}, 6, rope(4, false));
  for (int head : {0, 6}) {
    EXPECT_EQ(halves[head], halves[head + 2]);
    EXPECT_EQ(halves[head + 1], halves[head + 3]);
    EXPECT_NE(halves[head], halves[head + 1]);
    EXPECT_EQ(halves[head + 4], 4 * spread[head + 4]);  // not rotated
  }
  EXPECT_FLOAT_EQ(halves[0], 4 * std::sqrt((1.0F + 9.0F) / 2));
  const std::vector<float> pairs = key_factors(spread, {}, 6, rope(6, true));
  EXPECT_EQ(pairs[0], pairs[1]);
  EXPECT_EQ(pairs[8], pairs[9]);
  EXPECT_NE(pairs[1], pairs[2]);
}

TEST(KeyFactors, BiasAndSpreadAddInSquares) {
  const std::vector<float> factors =
      key_factors(std::vector<float>{3, 3, 3, 3}, std::vector<float>{354, 0, -354, 4}, 4, rope(4, false));
  EXPECT_FLOAT_EQ(factors[0], std::sqrt(354.0F * 354.0F + 16 * 9.0F));
  EXPECT_FLOAT_EQ(factors[1], std::sqrt((16.0F + 16 * 18.0F) / 2));
  EXPECT_EQ(factors[0], factors[2]);
}

TEST(KeyFactors, AreOneWhereNothingIsKnown) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(key_factors(std::vector<float>{0, 1, 0, 1}, {}, 4, rope(4, false)), (std::vector<float>{1, 4, 1, 4}));
  EXPECT_EQ(key_factors(std::vector<float>{nan, 1, 1, infinity}, {}, 4, rope(4, false)),
            (std::vector<float>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace brio::model
