// Conversions between float and the 16-bit floats of files. Exact towards float; to nearest, ties to even, from it.
// NaN stays NaN, infinities and signed zeros stay what they are, denormals are kept.
#pragma once

#include <bit>
#include <cstdint>

namespace brio::tensor {

constexpr float f16_to_f32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t fraction = half & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  if (fraction == 0) return std::bit_cast<float>(sign);
  // A denormal is fraction * 2^-24: shift its leading one up to bit 10, which a normal number leaves implicit.
  const uint32_t shift = static_cast<uint32_t>(std::countl_zero(fraction)) - 21;
  return std::bit_cast<float>(sign | (113 - shift) << 23 | ((fraction << shift) & 0x3FFU) << 13);
}

constexpr uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U);
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // 65520 and above round to infinity
  if (magnitude < 0x33000001U) return static_cast<uint16_t>(sign);             // up to 2^-25 rounds to zero
  // `kept` holds the result's exponent and fraction, `lost` the bits to round away, `half` their midpoint.
  uint32_t kept = 0;
  uint32_t lost = 0;
  uint32_t half = 0x1000;
  if (magnitude >= 0x38800000U) {  // 2^-14: a normal half
    kept = (magnitude - 0x38000000U) >> 13;
    lost = magnitude & 0x1FFFU;
  } else {
    const uint32_t shift = 126 - (magnitude >> 23);
    const uint32_t fraction = (magnitude & 0x7FFFFFU) | 0x800000U;
    kept = fraction >> shift;
    lost = fraction & ((1U << shift) - 1);
    half = 1U << (shift - 1);
  }
  if (lost > half || (lost == half && (kept & 1U) != 0)) ++kept;
  return static_cast<uint16_t>(sign | kept);
}

constexpr float bf16_to_f32(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

constexpr uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>(bits >> 16 | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace brio::tensor
