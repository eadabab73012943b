#include "kernels/linear_pack.h"

#include <cstring>

#include "kernels/linear_blocks.h"
#include "kernels/linear_layout.h"

namespace brio::kernels {
namespace {

uint8_t* bytes(std::byte* p) {
  return reinterpret_cast<uint8_t*>(p);
}
void or_into(uint8_t& byte, int bits) {
  byte = static_cast<uint8_t>(byte | bits);
}

// The bricks of linear.h: 32 codes of one row into its lane.
void put_nibbles(const uint8_t* codes, int row, uint8_t* out) {
  for (int k = 0; k < 32; ++k) or_into(out[k / 8 * 64 + row * 4 + k % 4], (codes[k] & 15) << (k / 4 % 2 * 4));
}
void put_bits(const uint8_t* codes, int bit, int row, uint8_t* out) {
  for (int k = 0; k < 32; ++k) or_into(out[row * 4 + k % 4], (codes[k] >> bit & 1) << (k / 4));
}
void put_pairs(const uint8_t* codes, int bit, int row, uint8_t* out) {
  for (int k = 0; k < 32; ++k) or_into(out[k / 16 * 64 + row * 4 + k % 4], (codes[k] >> bit & 3) << (k / 4 % 4 * 2));
}
void put_bytes(const uint8_t* codes, int row, uint8_t* out) {
  for (int k = 0; k < 32; ++k) out[k / 4 * 64 + row * 4 + k % 4] = codes[k];
}

void put_codes(PanelFormat format, const uint8_t* codes, int row, uint8_t* out) {
  switch (format) {
    case PanelFormat::kQ8_0:
      return put_bytes(codes, row, out);
    case PanelFormat::kQ2_K:
      return put_pairs(codes, 0, row, out);
    case PanelFormat::kQ3_K:
      put_pairs(codes, 0, row, out);
      return put_bits(codes, 2, row, out + 128);
    case PanelFormat::kQ6_K:
      put_nibbles(codes, row, out);
      return put_pairs(codes, 4, row, out + 256);
    case PanelFormat::kQ5_0:
    case PanelFormat::kQ5_1:
    case PanelFormat::kQ5_K:
      put_nibbles(codes, row, out);
      return put_bits(codes, 4, row, out + 256);
    default:
      return put_nibbles(codes, row, out);
  }
}

void put_scale_block_a(const BlockCodes& block, int row, uint8_t* out) {
  for (int i = 0; i < 8; ++i) {
    out[i * 16 + row] = static_cast<uint8_t>(block.scale[i] | (block.min[i] & 48) << 2);
    or_into(out[128 + i / 2 * 16 + row], (block.min[i] & 15) << (i % 2 * 4));
  }
}
void put_scale_block_b(const BlockCodes& block, int row, uint8_t* out) {
  for (int i = 0; i < 16; ++i) {
    const int scale = block.scale[i] + 32;
    or_into(out[i / 2 * 16 + row], (scale & 15) << (i % 2 * 4));
    or_into(out[128 + i / 4 * 16 + row], (scale >> 4) << (i % 4 * 2));
  }
}
void put_scale_block_c(const BlockCodes& block, int row, uint8_t* out) {
  for (int i = 0; i < 8; ++i) {
    const int scale = block.scale[i] + 32;
    or_into(out[i / 4 * 16 + row], (scale >> 4) << (i % 4 * 2));
    or_into(out[32 + i / 2 * 16 + row], (scale & 15) << (i % 2 * 4));
  }
}

// The header of a block, from one row's block. `group` is the block's first group of 32 within its header.
void put_header(PanelFormat format, const BlockCodes& block, int group, int row, uint8_t* out) {
  const auto put16 = [&](int offset, uint16_t half) { std::memcpy(out + offset + row * 2, &half, sizeof(half)); };
  put16(group * 32, block.d);
  switch (format) {
    case PanelFormat::kQ4_1:
    case PanelFormat::kQ5_1:
      put16(32, block.m);
      break;
    case PanelFormat::kQ4_K:
    case PanelFormat::kQ5_K:
      put16(32, block.m);
      put_scale_block_a(block, row, out + 64);
      break;
    case PanelFormat::kQ2_K:
      put16(32, block.m);
      for (int i = 0; i < 16; ++i) out[64 + i * 16 + row] = static_cast<uint8_t>(block.scale[i] | block.min[i] << 4);
      break;
    case PanelFormat::kQ3_K:
      put_scale_block_b(block, row, out + 64);
      break;
    case PanelFormat::kQ6_K:
      for (int i = 0; i < 16; ++i) out[64 + i * 16 + row] = static_cast<uint8_t>(block.scale[i]);
      break;
    case PanelFormat::kIQ4_XS:
      put_scale_block_c(block, row, out + 32);
      break;
    default:
      break;
  }
}

void pack_quantised(PanelFormat format, const std::byte* const* rows, int k, uint8_t* out) {
  const PanelLayout panel = layout(format);
  const BlockShape shape = block_shape(format);
  BlockCodes block;
  for (int row = 0; row < kPanelRows; ++row) {
    if (rows[row] == nullptr) continue;  // scales of zero
    for (int b = 0; b < k / shape.elements; ++b) {
      read_block(format, rows[row] + static_cast<int64_t>(b) * shape.bytes, block);
      const int first = b * shape.elements / kGroup;
      put_header(format, block, first % panel.groups, row, out + panel.block_offset(first));
      for (int g = 0; g < shape.elements / kGroup; ++g) {
        put_codes(format, block.codes + g * kGroup, row, out + panel.codes_offset(first + g));
      }
    }
  }
}

// 16 rows of 2- or 4-byte elements into [k / step][16 rows][step].
template <typename T>
void transpose(const std::byte* const* rows, int k, int step, std::byte* out) {
  for (int row = 0; row < kPanelRows; ++row) {
    if (rows[row] == nullptr) continue;
    for (int i = 0; i < k; ++i) {
      std::memcpy(out + ((static_cast<int64_t>(i) / step * kPanelRows + row) * step + i % step) * sizeof(T),
                  rows[row] + i * sizeof(T), sizeof(T));
    }
  }
}

}  // namespace

int64_t panel_bytes(PanelFormat format, int k) {
  return groups_bytes(layout(format), padded_k(k) / kGroup);
}

void pack_panel(PanelFormat format, const std::byte* const rows[kPanelRows], int k, std::byte* out) {
  std::memset(out, 0, static_cast<size_t>(panel_bytes(format, k)));
  switch (format) {
    case PanelFormat::kF32:
      return transpose<float>(rows, k, 1, out);
    case PanelFormat::kF16:
      return transpose<uint16_t>(rows, k, 1, out);
    case PanelFormat::kBF16:
      return transpose<uint16_t>(rows, k, 2, out);
    default:
      return pack_quantised(format, rows, k, bytes(out));
  }
}

void pack_panel_f32(const float* const rows[kPanelRows], int k, std::byte* out) {
  const std::byte* sources[kPanelRows];
  for (int i = 0; i < kPanelRows; ++i) sources[i] = reinterpret_cast<const std::byte*>(rows[i]);
  pack_panel(PanelFormat::kF32, sources, k, out);
}

}  // namespace brio::kernels
