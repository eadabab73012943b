#include "kernels/reference/linear_reference.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/float16.h"
#include "kernels/linear_blocks.h"
#include "kernels/linear_layout.h"

namespace brio::kernels {
namespace {

// What a code stands for before scales.
int value_of(PanelFormat format, int code) {
  switch (format) {
    case PanelFormat::kQ4_0:
      return code - 8;
    case PanelFormat::kQ5_0:
      return code - 16;
    case PanelFormat::kQ8_0:
      return code - 128;
    case PanelFormat::kQ3_K:
      return code - 4;
    case PanelFormat::kQ6_K:
      return code - 32;
    case PanelFormat::kIQ4_NL:
    case PanelFormat::kIQ4_XS:
      return kIq4Levels[code];
    default:
      return code;
  }
}

bool is_small_block(PanelFormat format) {
  return block_shape(format).elements == kGroup;
}
bool scales_per_16(PanelFormat format) {
  return format == PanelFormat::kQ2_K || format == PanelFormat::kQ3_K || format == PanelFormat::kQ6_K;
}
bool has_min(PanelFormat format) {
  return format == PanelFormat::kQ4_1 || format == PanelFormat::kQ5_1 || format == PanelFormat::kQ2_K ||
         format == PanelFormat::kQ4_K || format == PanelFormat::kQ5_K;
}

// Adds one stretch of k (32, or 16 where scales are per 16) of one row: codes and x from the stretch's start.
float add_stretch(PanelFormat format, const BlockCodes& block, int start, int length, const int8_t* x, float xs,
                  float acc) {
  int dot = 0;
  int sum = 0;
  for (int i = 0; i < length; ++i) {
    dot += value_of(format, block.codes[start + i]) * x[i];
    sum += x[i];
  }
  const int scale_index = start / length;
  float ws = f16_to_f32(block.d);
  if (!is_small_block(format)) ws *= static_cast<float>(block.scale[scale_index]);
  acc = std::fma(static_cast<float>(dot), ws * xs, acc);
  if (!has_min(format)) return acc;
  float wm = f16_to_f32(block.m);
  if (!is_small_block(format)) wm = -(wm * static_cast<float>(block.min[scale_index]));
  return std::fma(wm, xs * static_cast<float>(sum), acc);
}

float quantised_dot(PanelFormat format, const std::byte* w, int k, const QuantizedRows& x, int m) {
  const BlockShape shape = block_shape(format);
  const int length = scales_per_16(format) ? 16 : 32;
  BlockCodes block;
  float acc = 0.0F;
  for (int first = 0; first < k; first += length) {
    if (first % shape.elements == 0) read_block(format, w + first / shape.elements * shape.bytes, block);
    const float xs = x.scales[m * (x.stride / kGroup) + first / kGroup];
    acc = add_stretch(format, block, first % shape.elements, length, x.values + m * x.stride + first, xs, acc);
  }
  return acc;
}

float float_dot(PanelFormat format, const std::byte* w, int k, const float* x) {
  float acc = 0.0F;
  for (int i = 0; i < padded_k(k); ++i) {
    float weight = 0.0F;
    if (i < k && format == PanelFormat::kF32) {
      std::memcpy(&weight, w + i * sizeof(float), sizeof(float));
    } else if (i < k) {
      uint16_t half = 0;
      std::memcpy(&half, w + i * sizeof(half), sizeof(half));
      weight = f16_to_f32(half);
    }
    acc = std::fma(weight, x[i], acc);
  }
  return acc;
}

float bf16_dot(const std::byte* w, int k, const uint16_t* x) {
  const auto weight = [&](int i) {
    uint16_t bits = 0;
    if (i < k) std::memcpy(&bits, w + i * sizeof(bits), sizeof(bits));
    return bf16_to_f32(bits);
  };
  float acc = 0.0F;
  for (int i = 0; i < padded_k(k); i += 2) {
    acc = std::fma(weight(i + 1), bf16_to_f32(x[i + 1]), acc);
    acc = std::fma(weight(i), bf16_to_f32(x[i]), acc);
  }
  return acc;
}

float dot(PanelFormat format, const std::byte* w, int k, const LinearInput& x, int m) {
  switch (format) {
    case PanelFormat::kF32:
    case PanelFormat::kF16:
      return float_dot(format, w, k, x.f32 + m * x.stride);
    case PanelFormat::kBF16:
      return bf16_dot(w, k, x.bf16 + m * x.stride);
    default:
      return quantised_dot(format, w, k, x.s8, m);
  }
}

}  // namespace

void linear_reference(PanelFormat format, const std::byte* weight, int n, int k, const LinearInput& x, int num_rows,
                      const LinearOutput& out) {
  const BlockShape shape = block_shape(format);
  const int64_t bytes = static_cast<int64_t>(k / shape.elements) * shape.bytes;
  for (int m = 0; m < num_rows; ++m) {
    for (int i = 0; i < n; ++i) {
      float value = dot(format, weight + i * bytes, k, x, m);
      if (out.bias != nullptr) value = value + out.bias[i];
      float& y = out.y[m * out.stride + i];
      y = out.write == Write::kAdd ? y + value : value;
    }
  }
}

void quantize_row_reference(const float* x, int k, QuantizedRow out) {
  for (int first = 0; first < padded_k(k); first += kGroup) {
    uint32_t largest = 0;  // bits of |x|, which order as the values do; NaN and infinity come out on top
    for (int i = first; i < first + kGroup && i < k; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFFU;
      if (bits > largest) largest = bits;
    }
    const float amax = std::bit_cast<float>(largest);
    const bool finite = largest < 0x7F800000U;
    const bool empty = !finite || largest < std::bit_cast<uint32_t>(kSmallestAmax);
    const float inverse = empty ? 0.0F : 127.0F / amax;
    out.scales[first / kGroup] = !finite ? std::bit_cast<float>(0x7FC00000U) : empty ? 0.0F : amax / 127.0F;
    for (int i = first; i < first + kGroup; ++i) {
      out.values[i] = i < k && !empty ? static_cast<int8_t>(std::nearbyint(x[i] * inverse)) : int8_t{0};
    }
    for (int half = first; half < first + kGroup; half += 16) {
      int sum = 0;
      for (int i = half; i < half + 16; ++i) sum += out.values[i];
      out.sums[half / 16] = static_cast<int16_t>(sum);
    }
  }
}

void round_row_bf16_reference(const float* x, int k, uint16_t* out) {
  for (int i = 0; i < padded_k(k); ++i) out[i] = i < k ? f32_to_bf16_flushed(x[i]) : uint16_t{0};
}

}  // namespace brio::kernels
