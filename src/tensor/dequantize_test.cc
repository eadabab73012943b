// Every type against the gguf Python package's values, bit for bit: the golden file holds random blocks with extreme
// scales and blocks of real models (tools/dequantize_oracle.py).
#include "tensor/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tensor/float16.h"

namespace brio::tensor {
namespace {

constexpr int kNumTypes = static_cast<int>(DType::kIQ4_XS) + 1;

struct GoldenRecord {
  DType type;
  int64_t num_elements;
  std::vector<std::byte> blocks;
  std::vector<float> values;
};

std::vector<GoldenRecord> read_golden() {
  std::ifstream in("tests/golden/dequantize.bin", std::ios::binary);
  std::vector<GoldenRecord> records;
  char label[17] = {};
  uint32_t shape[2];
  while (in.read(label, 16) && in.read(reinterpret_cast<char*>(shape), sizeof(shape))) {
    GoldenRecord record{};
    for (int t = 0; t < kNumTypes; ++t) {
      if (name(static_cast<DType>(t)) == label) record.type = static_cast<DType>(t);
    }
    EXPECT_EQ(name(record.type), label);
    EXPECT_EQ(static_cast<uint32_t>(traits(record.type).block_bytes), shape[1]) << label;
    record.num_elements = int64_t{shape[0]} * traits(record.type).block_elements;
    record.blocks.resize(size_t{shape[0]} * shape[1]);
    record.values.resize(static_cast<size_t>(record.num_elements));
    in.read(reinterpret_cast<char*>(record.blocks.data()), static_cast<std::streamsize>(record.blocks.size()));
    in.read(reinterpret_cast<char*>(record.values.data()), static_cast<std::streamsize>(record.values.size() * 4));
    EXPECT_TRUE(in.good()) << label;
    records.push_back(std::move(record));
  }
  return records;
}

TEST(Dequantize, EqualsTheGgufPackageBitForBit) {
  std::set<DType> seen;
  for (const GoldenRecord& record : read_golden()) {
    std::vector<float> got(record.values.size());
    dequantize_row(record.type, record.blocks.data(), record.num_elements, got.data());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(record.values[i]))
          << name(record.type) << " element " << i << ": " << got[i] << " instead of " << record.values[i];
    }
    seen.insert(record.type);
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kNumTypes)) << "the golden file must hold every type";
}

TEST(Dequantize, AcceptsUnalignedSourcesAndEmptyRows) {
  for (const GoldenRecord& record : read_golden()) {
    std::vector<std::byte> shifted(record.blocks.size() + 1);
    std::memcpy(shifted.data() + 1, record.blocks.data(), record.blocks.size());
    std::vector<float> got(record.values.size(), -1.0F);
    dequantize_row(record.type, shifted.data() + 1, 0, got.data());
    EXPECT_EQ(got[0], -1.0F);
    dequantize_row(record.type, shifted.data() + 1, record.num_elements, got.data());
    EXPECT_EQ(std::memcmp(got.data(), record.values.data(), got.size() * sizeof(float)), 0) << name(record.type);
  }
}

// The value of a half from its definition, in double: independent of the bit tricks under test.
double half_value(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double magnitude = exponent == 0 ? fraction * 0x1p-24 : (1024 + fraction) * std::ldexp(1.0, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Float16, EveryFiniteHalfHasItsDefinedValueAndComesBack) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const auto h = static_cast<uint16_t>(half);
    if ((h >> 10 & 31) == 31) continue;
    ASSERT_EQ(static_cast<double>(f16_to_f32(h)), half_value(h)) << h;
    ASSERT_EQ(f32_to_f16(f16_to_f32(h)), h) << h;
  }
}

TEST(Float16, RoundsToNearestAndTiesToEven) {
  for (uint32_t half = 0; half < 0x7BFF; ++half) {
    const auto low = static_cast<uint16_t>(half);
    const auto high = static_cast<uint16_t>(half + 1);
    const auto middle =
        static_cast<float>((half_value(low) + half_value(high)) / 2);  // exact: one bit more than a half
    const uint16_t even = (low & 1) == 0 ? low : high;
    ASSERT_EQ(f32_to_f16(middle), even) << half;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0F)), low) << half;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e9F)), high) << half;
    ASSERT_EQ(f32_to_f16(-middle), even | 0x8000) << half;
  }
  EXPECT_EQ(f32_to_f16(65519.99F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(f32_to_f16(INFINITY), 0x7C00);
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(NAN))));
}

TEST(BFloat16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(f32_to_bf16(bf16_to_f32(0x3F81)), 0x3F81);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F808000U)), 0x3F80);  // tie to even, down
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F818000U)), 0x3F82);  // tie to even, up
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F808001U)), 0x3F81);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7F7FFFFFU)), 0x7F80);  // the largest float rounds to infinity
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7F800001U)))));
}

}  // namespace
}  // namespace brio::tensor
