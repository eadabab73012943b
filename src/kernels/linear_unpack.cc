// unpack_row: one output row read back out of its panel (embedding look-up from the copy that the LM head streams).
#include <cstring>

#include "kernels/float16.h"
#include "kernels/linear.h"
#include "kernels/linear_layout.h"

namespace brio::kernels {
namespace {

using Bytes = const uint8_t*;

int nibble(Bytes b, int row, int k) {
  return b[k / 8 * 64 + row * 4 + k % 4] >> (k / 4 % 2 * 4) & 15;
}
int bit(Bytes b, int row, int k) {
  return b[row * 4 + k % 4] >> (k / 4) & 1;
}
int pair(Bytes b, int row, int k) {
  return b[k / 16 * 64 + row * 4 + k % 4] >> (k / 4 % 4 * 2) & 3;
}

// The signed integer that the group's element k stands for.
int code(PanelFormat format, Bytes b, int row, int k) {
  switch (format) {
    case PanelFormat::kQ4_0:
      return nibble(b, row, k) - 8;
    case PanelFormat::kQ5_0:
      return (nibble(b, row, k) | bit(b + 256, row, k) << 4) - 16;
    case PanelFormat::kQ5_1:
    case PanelFormat::kQ5_K:
      return nibble(b, row, k) | bit(b + 256, row, k) << 4;
    case PanelFormat::kQ8_0:
      return b[k / 4 * 64 + row * 4 + k % 4] - 128;
    case PanelFormat::kQ2_K:
      return pair(b, row, k);
    case PanelFormat::kQ3_K:
      return (pair(b, row, k) | bit(b + 128, row, k) << 2) - 4;
    case PanelFormat::kQ6_K:
      return (nibble(b, row, k) | pair(b + 256, row, k) << 4) - 32;
    case PanelFormat::kIQ4_NL:
    case PanelFormat::kIQ4_XS:
      return kIq4Levels[nibble(b, row, k)];
    default:
      return nibble(b, row, k);
  }
}

struct ScaleAndMin {
  float scale;
  float min;  // to be added
};

// Of half `half` (16 k) of group `group` within the block whose header is at b.
ScaleAndMin scale_and_min(PanelFormat format, Bytes b, int row, int group, int half) {
  const auto f16 = [&](int offset) {
    uint16_t bits = 0;
    std::memcpy(&bits, b + offset + row * 2, sizeof(bits));
    return f16_to_f32(bits);
  };
  const auto byte = [&](int offset, int index) { return static_cast<int>(b[offset + index * 16 + row]); };
  const int i = group * 2 + half;
  switch (format) {
    case PanelFormat::kQ4_1:
    case PanelFormat::kQ5_1:
      return {f16(0), f16(32)};
    case PanelFormat::kQ4_K:
    case PanelFormat::kQ5_K: {
      const int min = (byte(64, group) >> 6 << 4) | (byte(192, group / 2) >> (group % 2 * 4) & 15);
      return {f16(0) * static_cast<float>(byte(64, group) & 63), -(f16(32) * static_cast<float>(min))};
    }
    case PanelFormat::kQ2_K:
      return {f16(0) * static_cast<float>(byte(64, i) & 15), -(f16(32) * static_cast<float>(byte(64, i) >> 4))};
    case PanelFormat::kQ3_K: {
      const int scale = (byte(64, group) >> (half * 4) & 15) | (byte(192, i / 4) >> (i % 4 * 2) & 3) << 4;
      return {f16(0) * static_cast<float>(scale - 32), 0.0F};
    }
    case PanelFormat::kQ6_K:
      return {f16(0) * static_cast<float>(static_cast<int8_t>(byte(64, i))), 0.0F};
    case PanelFormat::kIQ4_XS: {
      const int high = byte(32, group / 4) >> (group % 4 * 2) & 3;
      const int scale = (byte(64, group / 2) >> (group % 2 * 4) & 15) | high << 4;
      return {f16(0) * static_cast<float>(scale - 32), 0.0F};
    }
    default:
      return {f16(group * 32), 0.0F};
  }
}

bool has_min(PanelFormat format) {
  return format == PanelFormat::kQ4_1 || format == PanelFormat::kQ5_1 || format == PanelFormat::kQ4_K ||
         format == PanelFormat::kQ5_K || format == PanelFormat::kQ2_K;
}

void unpack_quantised(PanelFormat format, Bytes panel, int k, int row, float* out) {
  const PanelLayout where = layout(format);
  for (int first = 0; first < k; first += kGroup / 2) {
    const int group = first / kGroup;
    const int half = first % kGroup / (kGroup / 2);
    const Bytes codes = panel + where.codes_offset(group);
    const ScaleAndMin s = scale_and_min(format, panel + where.block_offset(group), row, group % where.groups, half);
    for (int i = 0; i < kGroup / 2; ++i) {
      const float product = s.scale * static_cast<float>(code(format, codes, row, half * 16 + i));
      out[first + i] = has_min(format) ? product + s.min : product;
    }
  }
}

}  // namespace

void unpack_row(PanelFormat format, const std::byte* panels, int k, int64_t row, float* out) {
  const int lane = static_cast<int>(row % kPanelRows);
  const std::byte* panel = panels + row / kPanelRows * panel_bytes(format, k);
  const auto half_at = [&](int index) {
    uint16_t bits = 0;
    std::memcpy(&bits, panel + static_cast<int64_t>(index) * 2, sizeof(bits));
    return bits;
  };
  switch (format) {
    case PanelFormat::kF32:
      for (int i = 0; i < k; ++i) std::memcpy(out + i, panel + (static_cast<int64_t>(i) * kPanelRows + lane) * 4, 4);
      return;
    case PanelFormat::kF16:
      for (int i = 0; i < k; ++i) out[i] = f16_to_f32(half_at(i * kPanelRows + lane));
      return;
    case PanelFormat::kBF16:
      for (int i = 0; i < k; ++i) out[i] = bf16_to_f32(half_at((i / 2 * kPanelRows + lane) * 2 + i % 2));
      return;
    default:
      return unpack_quantised(format, reinterpret_cast<Bytes>(panel), k, lane, out);
  }
}

}  // namespace brio::kernels
