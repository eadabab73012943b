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

// Four codes of a row at a time: as a 32-bit number they are what a dword lane of a line holds.
uint32_t quad(const uint8_t* codes, int index) {
  uint32_t four;
  std::memcpy(&four, codes + index * 4, sizeof(four));
  return four;
}
void put_lane(uint32_t four, int line, int row, uint8_t* out) {
  std::memcpy(out + line * 64 + row * 4, &four, sizeof(four));
}

// The bricks of linear.h: 32 codes of one row into its lane. Bits shifted in from a neighbouring byte are masked off.
void put_nibbles(const uint8_t* codes, int row, uint8_t* out) {
  constexpr uint32_t kMask = 0x0F0F0F0F;
  for (int line = 0; line < 4; ++line) {
    put_lane((quad(codes, line * 2) & kMask) | (quad(codes, line * 2 + 1) & kMask) << 4, line, row, out);
  }
}
void put_bits(const uint8_t* codes, int bit, int row, uint8_t* out) {
  uint32_t four = 0;
  for (int q = 0; q < 8; ++q) four |= (quad(codes, q) >> bit & 0x01010101U) << q;
  put_lane(four, 0, row, out);
}
void put_pairs(const uint8_t* codes, int bit, int row, uint8_t* out) {
  for (int line = 0; line < 2; ++line) {
    uint32_t four = 0;
    for (int f = 0; f < 4; ++f) four |= (quad(codes, line * 4 + f) >> bit & 0x03030303U) << f * 2;
    put_lane(four, line, row, out);
  }
}
void put_bytes(const uint8_t* codes, int row, uint8_t* out) {
  for (int line = 0; line < 8; ++line) put_lane(quad(codes, line), line, row, out);
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

// All rows of a block before the next block: the panel's lines stay in L1.
template <PanelFormat kFormat>
void pack_quantised(const std::byte* const* rows, int k, uint8_t* out) {
  constexpr PanelLayout kPanel = layout(kFormat);
  const BlockShape shape = block_shape(kFormat);
  BlockCodes block;
  for (int b = 0; b < k / shape.elements; ++b) {
    const int first = b * shape.elements / kGroup;
    for (int row = 0; row < kPanelRows; ++row) {
      if (rows[row] == nullptr) continue;  // scales of zero
      read_block(kFormat, rows[row] + static_cast<int64_t>(b) * shape.bytes, block);
      put_header(kFormat, block, first % kPanel.groups, row, out + kPanel.block_offset(first));
      for (int g = 0; g < shape.elements / kGroup; ++g) {
        put_codes(kFormat, block.codes + g * kGroup, row, out + kPanel.codes_offset(first + g));
      }
    }
  }
}

// 16 rows of k elements into [k / kStep][16 rows][kStep].
template <typename T, int kStep>
void transpose(const std::byte* const* rows, int k, std::byte* out) {
  constexpr size_t kStepBytes = sizeof(T) * kStep;
  const auto put = [&](int step, size_t num_bytes) {
    std::byte* lane = out + static_cast<int64_t>(step) * kPanelRows * kStepBytes;
    for (int row = 0; row < kPanelRows; ++row, lane += kStepBytes) {
      if (rows[row] != nullptr) std::memcpy(lane, rows[row] + static_cast<int64_t>(step) * kStepBytes, num_bytes);
    }
  };
  for (int step = 0; step < k / kStep; ++step) put(step, kStepBytes);
  if (k % kStep != 0) put(k / kStep, sizeof(T) * (k % kStep));
}

}  // namespace

int64_t panel_bytes(PanelFormat format, int k) {
  return groups_bytes(layout(format), padded_k(k) / kGroup);
}

void pack_panel(PanelFormat format, const std::byte* const rows[kPanelRows], int k, std::byte* out) {
  std::memset(out, 0, static_cast<size_t>(panel_bytes(format, k)));
  switch (format) {
    case PanelFormat::kQ4_0:
      return pack_quantised<PanelFormat::kQ4_0>(rows, k, bytes(out));
    case PanelFormat::kQ4_1:
      return pack_quantised<PanelFormat::kQ4_1>(rows, k, bytes(out));
    case PanelFormat::kQ5_0:
      return pack_quantised<PanelFormat::kQ5_0>(rows, k, bytes(out));
    case PanelFormat::kQ5_1:
      return pack_quantised<PanelFormat::kQ5_1>(rows, k, bytes(out));
    case PanelFormat::kQ8_0:
      return pack_quantised<PanelFormat::kQ8_0>(rows, k, bytes(out));
    case PanelFormat::kQ2_K:
      return pack_quantised<PanelFormat::kQ2_K>(rows, k, bytes(out));
    case PanelFormat::kQ3_K:
      return pack_quantised<PanelFormat::kQ3_K>(rows, k, bytes(out));
    case PanelFormat::kQ4_K:
      return pack_quantised<PanelFormat::kQ4_K>(rows, k, bytes(out));
    case PanelFormat::kQ5_K:
      return pack_quantised<PanelFormat::kQ5_K>(rows, k, bytes(out));
    case PanelFormat::kQ6_K:
      return pack_quantised<PanelFormat::kQ6_K>(rows, k, bytes(out));
    case PanelFormat::kIQ4_NL:
      return pack_quantised<PanelFormat::kIQ4_NL>(rows, k, bytes(out));
    case PanelFormat::kIQ4_XS:
      return pack_quantised<PanelFormat::kIQ4_XS>(rows, k, bytes(out));
    case PanelFormat::kF32:
      return transpose<float, 1>(rows, k, out);
    case PanelFormat::kF16:
      return transpose<uint16_t, 1>(rows, k, out);
    case PanelFormat::kBF16:
      return transpose<uint16_t, 2>(rows, k, out);
  }
}

void pack_panel_f32(const float* const rows[kPanelRows], int k, std::byte* out) {
  const std::byte* sources[kPanelRows];
  for (int i = 0; i < kPanelRows; ++i) sources[i] = reinterpret_cast<const std::byte*>(rows[i]);
  pack_panel(PanelFormat::kF32, sources, k, out);
}

}  // namespace brio::kernels
