#include "base/rng.h"

#include <gtest/gtest.h>

namespace brio {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32-10).
TEST(Philox, MatchesThePublishedVectors) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, StaysInsideItsBounds) {
  Rng rng(7);
  uint32_t seen = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint32_t value = rng.below(5);
    ASSERT_LT(value, 5U);
    seen |= 1U << value;
    const float real = rng.uniform(-2.0F, 3.0F);
    ASSERT_GE(real, -2.0F);
    ASSERT_LT(real, 3.0F);
  }
  EXPECT_EQ(seen, 31U);  // every value occurs
}

}  // namespace
}  // namespace brio
