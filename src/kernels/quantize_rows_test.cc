// Quantised rows on every ISA against the plain specification, bit for bit, and against the bound that the rule implies.
#include "kernels/quantize_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/cpu.h"
#include "base/rng.h"
#include "kernels/linear_test_table.h"
#include "kernels/reference/linear_reference.h"

namespace brio::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Image {
  explicit Image(int k) : values(row_stride(k), 77), scales(row_stride(k) / 32, 77.0F), sums(row_stride(k) / 16, 77) {}
  QuantizedRow row() { return {values.data(), scales.data(), sums.data()}; }
  bool operator==(const Image& other) const {
    return values == other.values && sums == other.sums &&
           std::equal(scales.begin(), scales.end(), other.scales.begin(), [](float a, float b) {
             return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(a)) == 0;
           });
  }
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<int16_t> sums;
};

std::vector<float> random_row(int k, Rng& rng) {
  const float kSpecials[] = {kNaN,      kInfinity,        -kInfinity,      0.0F, -0.0F, 0x1p-149F, -0x1.fffffcp-127F,
                             0x1p-110F, 0x1.fffffep-111F, 0x1.fffffep127F, 0.5F, 63.5F};
  std::vector<float> row(k);
  for (int i = 0; i < k; ++i) {
    const float scale = std::ldexp(1.0F, static_cast<int>(rng.below(40)) - 20);
    row[i] = rng.below(100) == 0 ? kSpecials[rng.below(12)] : rng.uniform(-1.0F, 1.0F) * scale;
  }
  if (rng.below(4) == 0) std::fill(row.begin(), row.begin() + std::min(k, 32), 0x1p-112F);
  return row;
}

class QuantizeRowsTest : public ::testing::TestWithParam<LinearTestTable> {};

TEST_P(QuantizeRowsTest, EveryLengthEqualsTheReferenceInBothFloatModes) {
  Rng rng(1);
  for (int round = 0; round < 2; ++round) {
    for (int k = 1; k < 200; ++k) {
      const std::vector<float> x = random_row(k, rng);
      Image expected(k);
      Image actual(k);
      quantize_row_reference(x.data(), k, expected.row());
      GetParam().quantize->quantize_row(x.data(), k, actual.row());
      ASSERT_TRUE(expected == actual) << "k " << k;
    }
    set_float_mode();
  }
}

TEST_P(QuantizeRowsTest, Bf16EqualsTheReference) {
  Rng rng(2);
  for (int k = 1; k < 200; ++k) {
    const std::vector<float> x = random_row(k, rng);
    std::vector<uint16_t> expected(padded_k(k) + 1, 7);
    std::vector<uint16_t> actual(padded_k(k) + 1, 7);
    round_row_bf16_reference(x.data(), k, expected.data());
    GetParam().quantize->round_row_bf16(x.data(), k, actual.data());
    ASSERT_EQ(expected, actual) << "k " << k;
  }
}

// |x - scale q| <= scale / 2, up to the roundings of 127 / amax, of the product and of the scale: 3 x 2^-24 of |x| each.
TEST_P(QuantizeRowsTest, ValuesLieWithinHalfAStep) {
  Rng rng(3);
  std::vector<float> x(4096);
  for (float& value : x) value = rng.uniform(-3.0F, 3.0F);
  Image image(4096);
  GetParam().quantize->quantize_row(x.data(), 4096, image.row());
  for (int i = 0; i < 4096; ++i) {
    const double scale = image.scales[i / 32];
    const double slack = 3 * 0x1p-24 * 127 * scale;
    ASSERT_LE(std::abs(x[i] - scale * image.values[i]), scale / 2 + slack) << i;
  }
}

TEST_P(QuantizeRowsTest, NaNAndInfinityPoisonTheirGroupAlone) {
  for (const float special : {kNaN, -kNaN, kInfinity, -kInfinity}) {
    std::vector<float> x(96, 1.0F);
    x[40] = special;
    Image image(96);
    GetParam().quantize->quantize_row(x.data(), 96, image.row());
    EXPECT_TRUE(std::isnan(image.scales[1]));
    EXPECT_FALSE(std::isnan(image.scales[0]) || std::isnan(image.scales[2]));
    for (int i = 32; i < 64; ++i) EXPECT_EQ(image.values[i], 0);
    EXPECT_EQ(image.sums[2] + image.sums[3], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, QuantizeRowsTest, ::testing::ValuesIn(linear_test_tables()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace brio::kernels
