#include "tensor/dequantize.h"

#include <cstring>

#include "base/check.h"
#include "tensor/float16.h"

namespace brio::tensor {
namespace {

using Byte = uint8_t;  // blocks are read as unsigned bytes

uint16_t u16_at(const Byte* p) {
  return static_cast<uint16_t>(p[0] | p[1] << 8);
}
float f16_at(const Byte* p) {
  return f16_to_f32(u16_at(p));
}
uint32_t u32_at(const Byte* p) {
  return static_cast<uint32_t>(u16_at(p)) | static_cast<uint32_t>(u16_at(p + 2)) << 16;
}

void f32_block(const Byte* b, float* y) {
  std::memcpy(y, b, sizeof(float));
}
void f16_block(const Byte* b, float* y) {
  *y = f16_at(b);
}
void bf16_block(const Byte* b, float* y) {
  *y = bf16_to_f32(u16_at(b));
}

// The 32-element types keep element i in the low and element i + 16 in the high nibble of byte i.

// d f16 | 16 bytes of nibbles; value = d (q - 8)
void q4_0_block(const Byte* b, float* y) {
  const float d = f16_at(b);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>((b[2 + i] & 15) - 8);
    y[i + 16] = d * static_cast<float>((b[2 + i] >> 4) - 8);
  }
}

// d f16 | m f16 | 16 bytes of nibbles; value = d q + m
void q4_1_block(const Byte* b, float* y) {
  const float d = f16_at(b);
  const float m = f16_at(b + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>(b[4 + i] & 15) + m;
    y[i + 16] = d * static_cast<float>(b[4 + i] >> 4) + m;
  }
}

// d f16 | fifth bits, bit i of element i | 16 bytes of nibbles; value = d (q - 16)
void q5_0_block(const Byte* b, float* y) {
  const float d = f16_at(b);
  const uint32_t high = u32_at(b + 2);
  for (int i = 0; i < 16; ++i) {
    const int low = b[6 + i];
    y[i] = d * static_cast<float>(static_cast<int>((low & 15) | (high >> i & 1) << 4) - 16);
    y[i + 16] = d * static_cast<float>(static_cast<int>((low >> 4) | (high >> (i + 16) & 1) << 4) - 16);
  }
}

// d f16 | m f16 | fifth bits | 16 bytes of nibbles; value = d q + m
void q5_1_block(const Byte* b, float* y) {
  const float d = f16_at(b);
  const float m = f16_at(b + 2);
  const uint32_t high = u32_at(b + 4);
  for (int i = 0; i < 16; ++i) {
    const int low = b[8 + i];
    y[i] = d * static_cast<float>((low & 15) | (high >> i & 1) << 4) + m;
    y[i + 16] = d * static_cast<float>((low >> 4) | (high >> (i + 16) & 1) << 4) + m;
  }
}

// d f16 | 32 signed bytes; value = d q
void q8_0_block(const Byte* b, float* y) {
  const float d = f16_at(b);
  for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(static_cast<int8_t>(b[2 + i]));
}

// In the 256-element types, planes of 2-bit values hold four runs of 32 elements per 32 bytes: run r in bits 2r, 2r
// + 1.
int two_bits(const Byte* plane, int element) {
  return plane[element / 128 * 32 + element % 32] >> (element % 128 / 32 * 2) & 3;
}
// Planes of 4-bit values hold two runs of 32 elements per 32 bytes: low nibbles first.
int four_bits(const Byte* plane, int element) {
  return plane[element / 64 * 32 + element % 32] >> (element % 64 / 32 * 4) & 15;
}
// Planes of single bits: 32 bytes, bit r of byte i belongs to element 32 r + i.
int one_bit(const Byte* plane, int element) {
  return plane[element % 32] >> (element / 32) & 1;
}

// 16 bytes scale (low nibble) and min (high nibble) of 16 elements each | 2-bit plane | d f16 | dmin f16
void q2_k_block(const Byte* b, float* y) {
  const float d = f16_at(b + 80);
  const float dmin = f16_at(b + 82);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(b[group] & 15);
    const float offset = dmin * static_cast<float>(b[group] >> 4);
    for (int i = group * 16; i < group * 16 + 16; ++i) y[i] = scale * static_cast<float>(two_bits(b + 16, i)) - offset;
  }
}

// 1-bit plane (0: subtract 4) | 2-bit plane | 16 scales of 6 bits, less 32 | d f16
// Scale j: low nibble in byte j % 8 (its half j / 8), high two bits in byte 8 + j % 4 at bit 2 (j / 4).
void q3_k_block(const Byte* b, float* y) {
  const Byte* packed = b + 96;
  const float d = f16_at(b + 108);
  for (int group = 0; group < 16; ++group) {
    const int low = packed[group % 8] >> (group / 8 * 4) & 15;
    const int high = packed[8 + group % 4] >> (group / 4 * 2) & 3;
    const float scale = d * static_cast<float>((low | high << 4) - 32);
    for (int i = group * 16; i < group * 16 + 16; ++i) {
      y[i] = scale * static_cast<float>(two_bits(b + 32, i) - (1 - one_bit(b, i)) * 4);
    }
  }
}

struct ScaleAndMin {
  float scale;
  float min;
};

// Eight 6-bit scales and mins in 12 bytes: those of groups 0-3 in the low six bits of bytes 0-3 and 4-7; of groups 4-7
// the low nibbles (scale) and high nibbles (min) of bytes 8-11 and, above them, the top two bits of bytes 0-3 and 4-7.
ScaleAndMin k_scale(const Byte* packed, int group) {
  if (group < 4) return {static_cast<float>(packed[group] & 63), static_cast<float>(packed[group + 4] & 63)};
  const int nibbles = packed[group + 4];
  return {static_cast<float>((nibbles & 15) | packed[group - 4] >> 6 << 4),
          static_cast<float>(nibbles >> 4 | packed[group] >> 6 << 4)};
}

// d f16 | dmin f16 | 12 bytes of scales and mins of 32 elements each | 4-bit plane
void q4_k_block(const Byte* b, float* y) {
  const float d = f16_at(b);
  const float dmin = f16_at(b + 2);
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMin s = k_scale(b + 4, group);
    const float scale = d * s.scale;
    const float offset = dmin * s.min;
    for (int i = group * 32; i < group * 32 + 32; ++i) y[i] = scale * static_cast<float>(four_bits(b + 16, i)) - offset;
  }
}

// As Q4_K with a 1-bit plane (the fifth bits) in front of the 4-bit plane
void q5_k_block(const Byte* b, float* y) {
  const float d = f16_at(b);
  const float dmin = f16_at(b + 2);
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMin s = k_scale(b + 4, group);
    const float scale = d * s.scale;
    const float offset = dmin * s.min;
    for (int i = group * 32; i < group * 32 + 32; ++i) {
      y[i] = scale * static_cast<float>(four_bits(b + 48, i) | one_bit(b + 16, i) << 4) - offset;
    }
  }
}

// 4-bit plane, runs of 64 per 64 bytes | 2-bit plane | 16 signed scales of 16 elements each | d f16; value = d scale (q
// - 32)
void q6_k_block(const Byte* b, float* y) {
  const float d = f16_at(b + 208);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(static_cast<int8_t>(b[192 + group]));
    for (int i = group * 16; i < group * 16 + 16; ++i) {
      const int low = b[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
      y[i] = scale * static_cast<float>((low | two_bits(b + 128, i) << 4) - 32);
    }
  }
}

// The 16 levels of the IQ4 types.
constexpr float kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// d f16 | 16 bytes of nibbles; value = d level[q]
void iq4_nl_block(const Byte* b, float* y) {
  const float d = f16_at(b);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * kIq4Levels[b[2 + i] & 15];
    y[i + 16] = d * kIq4Levels[b[2 + i] >> 4];
  }
}

// d f16 | high two bits of 8 scales u16 | low nibbles of 8 scales | per 32 elements 16 bytes of nibbles as in IQ4_NL
void iq4_xs_block(const Byte* b, float* y) {
  const float d = f16_at(b);
  const int high = u16_at(b + 2);
  for (int group = 0; group < 8; ++group) {
    const int low = b[4 + group / 2] >> (group % 2 * 4) & 15;
    const float scale = d * static_cast<float>((low | (high >> (2 * group) & 3) << 4) - 32);
    const Byte* nibbles = b + 8 + group * 16;
    for (int i = 0; i < 16; ++i) {
      y[group * 32 + i] = scale * kIq4Levels[nibbles[i] & 15];
      y[group * 32 + i + 16] = scale * kIq4Levels[nibbles[i] >> 4];
    }
  }
}

template <void (*block)(const Byte*, float*)>
void each_block(DType type, const std::byte* src, int64_t num_elements, float* dst) {
  const DTypeTraits& t = traits(type);
  const auto* bytes = reinterpret_cast<const Byte*>(src);
  for (int64_t i = 0; i < num_elements / t.block_elements; ++i) {
    block(bytes + i * t.block_bytes, dst + i * t.block_elements);
  }
}

}  // namespace

void dequantize_row(DType type, const std::byte* src, int64_t num_elements, float* dst) {
  BRIO_CHECK(num_elements % traits(type).block_elements == 0, "{} elements of {}", num_elements, name(type));
  switch (type) {
    case DType::kF32:
      return each_block<f32_block>(type, src, num_elements, dst);
    case DType::kF16:
      return each_block<f16_block>(type, src, num_elements, dst);
    case DType::kBF16:
      return each_block<bf16_block>(type, src, num_elements, dst);
    case DType::kQ4_0:
      return each_block<q4_0_block>(type, src, num_elements, dst);
    case DType::kQ4_1:
      return each_block<q4_1_block>(type, src, num_elements, dst);
    case DType::kQ5_0:
      return each_block<q5_0_block>(type, src, num_elements, dst);
    case DType::kQ5_1:
      return each_block<q5_1_block>(type, src, num_elements, dst);
    case DType::kQ8_0:
      return each_block<q8_0_block>(type, src, num_elements, dst);
    case DType::kQ2_K:
      return each_block<q2_k_block>(type, src, num_elements, dst);
    case DType::kQ3_K:
      return each_block<q3_k_block>(type, src, num_elements, dst);
    case DType::kQ4_K:
      return each_block<q4_k_block>(type, src, num_elements, dst);
    case DType::kQ5_K:
      return each_block<q5_k_block>(type, src, num_elements, dst);
    case DType::kQ6_K:
      return each_block<q6_k_block>(type, src, num_elements, dst);
    case DType::kIQ4_NL:
      return each_block<iq4_nl_block>(type, src, num_elements, dst);
    case DType::kIQ4_XS:
      return each_block<iq4_xs_block>(type, src, num_elements, dst);
  }
}

}  // namespace brio::tensor
