// Every format on every ISA against the plain specification, bit for bit, from file bytes through packing.
#include "kernels/linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "kernels/float16.h"
#include "kernels/linear_blocks.h"
#include "kernels/linear_pack.h"
#include "kernels/linear_test_table.h"
#include "kernels/reference/linear_reference.h"

namespace brio::kernels {
namespace {

const char* format_name(PanelFormat format) {
  static const char* kNames[] = {"Q4_0", "Q4_1", "Q5_0",   "Q5_1",   "Q8_0", "Q2_K", "Q3_K", "Q4_K",
                                 "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "F32",  "F16",  "BF16"};
  return kNames[static_cast<int>(format)];
}

bool is_float(PanelFormat format) {
  return format >= PanelFormat::kF32;
}

// A finite float of either sign, mostly of moderate size.
float random_value(Rng& rng) {
  return rng.uniform(-2.0F, 2.0F) * (rng.below(50) == 0 ? 100.0F : 1.0F);
}

uint16_t random_f16(Rng& rng) {
  const uint32_t sign = rng.below(2) << 15;
  return static_cast<uint16_t>(sign | (8 + rng.below(8)) << 10 | rng.below(1024));
}

// How the weights and rows of a case are drawn.
enum class Draw {
  kRandom,
  kExtreme,  // codes all ones or all zeros, activations all +-127
  kSpecial,  // scales that are infinite, NaN, subnormal or zero; activations with NaN, infinity and tiny values
};

// `n` rows of k elements of random bytes with sane scales (any bytes are a valid block; scales must not all be NaN).
std::vector<std::byte> make_weight(PanelFormat format, int n, int k, Draw draw, Rng& rng) {
  const BlockShape shape = block_shape(format);
  std::vector<std::byte> bytes(static_cast<size_t>(n) * (k / shape.elements) * shape.bytes);
  for (size_t block = 0; block < bytes.size(); block += shape.bytes) {
    const uint32_t fill = rng.below(2) * 0xFF;
    for (int i = 0; i < shape.bytes; ++i) {
      bytes[block + i] = static_cast<std::byte>(draw == Draw::kExtreme ? fill : rng.below(256));
    }
    const auto put_f16 = [&](int offset) {
      // Infinities and NaN rarely, or every output would be NaN and prove nothing.
      constexpr uint16_t kSpecials[] = {0x0001, 0x83FF, 0x0000, 0x8000, 0x7BFF, 0x7C00, 0xFC00, 0x7E00};
      const bool special = draw == Draw::kSpecial && rng.below(3) == 0;
      const uint16_t half = special ? kSpecials[rng.below(rng.below(40) == 0 ? 8 : 5)] : random_f16(rng);
      std::memcpy(&bytes[block + offset], &half, sizeof(half));
    };
    switch (format) {
      case PanelFormat::kQ2_K:
        put_f16(80);
        put_f16(82);
        break;
      case PanelFormat::kQ3_K:
        put_f16(108);
        break;
      case PanelFormat::kQ6_K:
        put_f16(208);
        break;
      case PanelFormat::kQ4_1:
      case PanelFormat::kQ5_1:
      case PanelFormat::kQ4_K:
      case PanelFormat::kQ5_K:
        put_f16(0);
        put_f16(2);
        break;
      case PanelFormat::kF32: {
        const float value = draw == Draw::kSpecial && rng.below(40) == 0 ? 0x1p-140F : random_value(rng);
        std::memcpy(&bytes[block], &value, sizeof(value));
        break;
      }
      case PanelFormat::kBF16: {
        const uint16_t value = f32_to_bf16_flushed(random_value(rng));
        std::memcpy(&bytes[block], &value, sizeof(value));
        if (draw == Draw::kSpecial && rng.below(40) == 0) bytes[block + 1] = std::byte{0};  // subnormal
        break;
      }
      default:
        put_f16(0);
    }
  }
  return bytes;
}

// Activation rows in every form, with their own storage.
struct TestRows {
  TestRows(int num_rows, int k, Draw draw, Rng& rng) : stride(row_stride(k)) {
    const size_t count = static_cast<size_t>(num_rows) * stride;
    f32.resize(count);
    bf16.resize(count);
    values.resize(count);
    scales.resize(count / kGroup);
    sums.resize(count / 16);
    for (int r = 0; r < num_rows; ++r) {
      float* row = &f32[r * stride];
      for (int i = 0; i < k; ++i) {
        row[i] = draw == Draw::kExtreme ? (rng.below(2) == 0 ? 1.0F : -1.0F) : random_value(rng);
        if (draw == Draw::kExtreme && r % 2 == 0) row[i] = 1.0F;
        if (draw == Draw::kSpecial && rng.below(300) == 0) row[i] = special(rng);
      }
      quantize_row_reference(row, k, {&values[r * stride], &scales[r * stride / kGroup], &sums[r * stride / 16]});
      round_row_bf16_reference(row, k, &bf16[r * stride]);
    }
  }
  static float special(Rng& rng) {
    const float kSpecials[] = {0x1p-130F,
                               0x1p-149F,
                               -0.0F,
                               0x1.fffffep127F,
                               0x1p-120F,
                               1e30F,
                               std::numeric_limits<float>::quiet_NaN(),
                               std::numeric_limits<float>::infinity()};
    return kSpecials[rng.below(rng.below(8) == 0 ? 8 : 6)];
  }
  LinearInput input() const {
    return {{values.data(), scales.data(), sums.data(), stride}, bf16.data(), f32.data(), stride};
  }
  ptrdiff_t stride;
  std::vector<float> f32;
  std::vector<uint16_t> bf16;
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<int16_t> sums;
};

struct Packed {
  Packed(PanelFormat format, const std::vector<std::byte>& weight, int n, int k)
      : buffer(AlignedBuffer::create(static_cast<size_t>(num_panels(n)) * panel_bytes(format, k)).value()) {
    const BlockShape shape = block_shape(format);
    const size_t row_bytes = static_cast<size_t>(k / shape.elements) * shape.bytes;
    for (int p = 0; p < num_panels(n); ++p) {
      const std::byte* rows[kPanelRows];
      for (int i = 0; i < kPanelRows; ++i) {
        const int row = p * kPanelRows + i;
        rows[i] = row < n ? weight.data() + row * row_bytes : nullptr;
      }
      pack_panel(format, rows, k, buffer.data() + p * panel_bytes(format, k));
    }
  }
  AlignedBuffer buffer;
};

bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// y with a border that must stay untouched.
constexpr float kUntouched = 12345.0F;
struct TestOutput {
  TestOutput(int rows, int n, const float* bias, Write write, Rng rng)
      : y(static_cast<size_t>(rows) * (n + 3) + kPanelRows, kUntouched) {
    out = {y.data(), n + 3, bias, write, n};
    if (write == Write::kReplace) return;
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < n; ++i) y[r * out.stride + i] = random_value(rng);
    }
  }
  std::vector<float> y;
  LinearOutput out;
};

class LinearTest : public ::testing::TestWithParam<std::tuple<PanelFormat, LinearTestTable>> {
 protected:
  void SetUp() override { set_float_mode(); }
  PanelFormat format() const { return std::get<0>(GetParam()); }

  void expect_equal(int n, int k, int num_rows, Draw draw, Write write, bool with_bias) {
    SCOPED_TRACE(::testing::Message() << "n " << n << " k " << k << " rows " << num_rows << " draw "
                                      << static_cast<int>(draw));
    Rng rng(static_cast<uint64_t>(n * 1000003 + k * 101 + num_rows));
    const std::vector<std::byte> weight = make_weight(format(), n, k, draw, rng);
    const TestRows rows(num_rows, k, draw, rng);
    const Packed packed(format(), weight, n, k);
    std::vector<float> bias(n);
    for (float& b : bias) b = random_value(rng);
    const float* bias_or_none = with_bias ? bias.data() : nullptr;
    TestOutput expected(num_rows, n, bias_or_none, write, Rng(7));
    TestOutput actual(num_rows, n, bias_or_none, write, Rng(7));
    linear_reference(format(), weight.data(), n, k, rows.input(), num_rows, expected.out);
    const auto kernel = std::get<1>(GetParam()).linear->linear[static_cast<int>(format())];
    const int first = num_panels(n) / 2;  // in two calls, to prove that panels are independent
    LinearOutput rest = actual.out;
    rest.y += first * kPanelRows;
    rest.bias = with_bias ? bias.data() + first * kPanelRows : nullptr;
    rest.columns -= first * kPanelRows;
    kernel({packed.buffer.data(), first}, k, rows.input(), num_rows, actual.out);
    kernel({packed.buffer.data() + first * panel_bytes(format(), k), num_panels(n) - first}, k, rows.input(), num_rows,
           rest);
    int num_nan = 0;
    for (size_t i = 0; i < expected.y.size(); ++i) {
      num_nan += std::isnan(expected.y[i]) ? 1 : 0;
      ASSERT_TRUE(same_bits(expected.y[i], actual.y[i]))
          << "row " << i / (n + 3) << " column " << i % (n + 3) << ": " << expected.y[i] << " vs " << actual.y[i];
    }
    if (num_rows < 7) return;
    ASSERT_LT(num_nan, static_cast<int>(expected.y.size() * 3 / 4)) << "compares hardly anything";
  }
  int block() const { return block_shape(format()).elements; }
};

TEST_P(LinearTest, EveryRowCountEqualsTheReference) {
  for (const int rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17, 31, 33, 130}) {
    expect_equal(40, block() * (rows < 40 ? 3 : 1) + (is_float(format()) ? 37 : 0), rows, Draw::kRandom,
                 Write::kReplace,
                 /*with_bias=*/false);
  }
}

TEST_P(LinearTest, EveryWidthEqualsTheReference) {
  for (const int n : {1, 15, 16, 17, 31, 33, 63, 64, 65, 100}) {
    for (const int rows : {1, 2, 11}) {
      expect_equal(n, block() == 256 ? 256 : 96, rows, Draw::kRandom, Write::kReplace, /*with_bias=*/true);
    }
  }
}

TEST_P(LinearTest, EveryDepthEqualsTheReference) {
  for (int blocks = 1; blocks < 20; blocks += blocks < 4 ? 1 : 5) {
    for (const int rows : {1, 4, 10}) {
      expect_equal(32, blocks * block(), rows, Draw::kRandom, Write::kAdd, /*with_bias=*/blocks % 2 == 0);
    }
  }
}

TEST_P(LinearTest, ExtremeOperandsDoNotSaturate) {
  for (const int rows : {1, 3, 9}) expect_equal(64, 512, rows, Draw::kExtreme, Write::kReplace, /*with_bias=*/false);
}

TEST_P(LinearTest, SpecialScalesAndActivationsEqualTheReference) {
  for (const int rows : {1, 2, 7, 20}) expect_equal(48, 768, rows, Draw::kSpecial, Write::kAdd, /*with_bias=*/true);
}

// Wide rows cross the limit on activation blocks.
TEST_P(LinearTest, ManyWideRowsEqualTheReference) {
  expect_equal(16, 256 * 40, 70, Draw::kRandom, Write::kReplace, /*with_bias=*/false);
}

std::vector<PanelFormat> all_formats() {
  std::vector<PanelFormat> formats;
  for (int i = 0; i < kNumPanelFormats; ++i) formats.push_back(static_cast<PanelFormat>(i));
  return formats;
}

INSTANTIATE_TEST_SUITE_P(
    All, LinearTest, ::testing::Combine(::testing::ValuesIn(all_formats()), ::testing::ValuesIn(linear_test_tables())),
    [](const auto& info) {
      return std::string(format_name(std::get<0>(info.param))) + "_" + std::get<1>(info.param).name;
    });

TEST(PanelTest, PackedBytesStayWithinThreePercentOfTheFile) {
  for (const PanelFormat format : all_formats()) {
    for (const int k : {1024, 2048, 4096, 8960 / 256 * 256}) {
      const BlockShape shape = block_shape(format);
      const double file = 16.0 * k / shape.elements * shape.bytes;
      EXPECT_LE(static_cast<double>(panel_bytes(format, k)), 1.03 * file) << format_name(format) << " k " << k;
      EXPECT_EQ(panel_bytes(format, k) % 64, 0);
    }
  }
}

// The value of each element is what the reference multiplies: unpack_row against a row of x that is one-hot.
TEST(PanelTest, UnpackedRowsAreTheWeightsOfTheFile) {
  for (const PanelFormat format : all_formats()) {
    if (is_float(format)) continue;
    Rng rng(3);
    const int n = 21;
    const int k = 512;
    const std::vector<std::byte> weight = make_weight(format, n, k, Draw::kRandom, rng);
    const Packed packed(format, weight, n, k);
    std::vector<float> row(k);
    const BlockShape shape = block_shape(format);
    for (int i = 0; i < n; ++i) {
      unpack_row(format, packed.buffer.data(), k, i, row.data());
      for (int j = 0; j < k; ++j) {
        // One activation of 127 with scale 1 gives fma(127 q, ws, 0) [+ fma(wm, 127)]: divide in double.
        std::vector<int8_t> values(row_stride(k));
        std::vector<float> scales(row_stride(k) / kGroup);
        std::vector<int16_t> sums(row_stride(k) / 16);
        values[j] = 1;
        scales[j / kGroup] = 1.0F;
        sums[j / 16] = 1;
        float y = 0.0F;
        const LinearInput x = {{values.data(), scales.data(), sums.data(), row_stride(k)}};
        const size_t row_bytes = static_cast<size_t>(k / shape.elements) * shape.bytes;
        linear_reference(format, weight.data() + i * row_bytes, 1, k, x, 1, {&y, 1, nullptr, Write::kReplace, 1});
        ASSERT_EQ(y, row[j]) << format_name(format) << " row " << i << " element " << j;
      }
    }
  }
}

}  // namespace
}  // namespace brio::kernels
