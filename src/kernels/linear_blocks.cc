#include "kernels/linear_blocks.h"

#include <cstring>

namespace brio::kernels {
namespace {

using Bytes = const uint8_t*;

uint16_t u16_at(Bytes b) {
  return static_cast<uint16_t>(b[0] | b[1] << 8);
}

// Eight codes at a time. Bits shifted in from a neighbouring byte are masked off.
constexpr uint64_t kEachByte = 0x0101010101010101;

uint64_t eight_at(Bytes b) {
  uint64_t eight;
  std::memcpy(&eight, b, sizeof(eight));
  return eight;
}
void or_eight(uint64_t eight, uint8_t* codes) {
  eight |= eight_at(codes);
  std::memcpy(codes, &eight, sizeof(eight));
}

// 16 bytes: element i in the low nibble of byte i, element i + 16 in the high one.
void split_nibbles(Bytes b, uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = b[i] & 15;
    codes[i + 16] = b[i] >> 4;
  }
}

// 4 bytes: bit i is the fifth bit of element i. Eight copies of a byte, of which byte i keeps bit i: the sum carries that
// into bit 7 and no further.
void add_fifth_bits(Bytes b, uint8_t* codes) {
  for (int i = 0; i < 4; ++i) {
    const uint64_t own = b[i] * kEachByte & 0x8040201008040201;
    or_eight(((own + 0x7F * kEachByte) >> 7 & kEachByte) << 4, codes + i * 8);
  }
}

// Runs of `fields` times 32 elements share 32 bytes, each run in the next 8 / fields bits; the result is shifted up.
void add_fields(Bytes b, int fields, int shift, uint8_t* codes) {
  const int bits = 8 / fields;
  const uint64_t mask = ((1U << bits) - 1) * kEachByte;
  for (int run = 0; run < 8; ++run) {
    const Bytes from = b + run / fields * 32;
    for (int i = 0; i < 32; i += 8) {
      or_eight((eight_at(from + i) >> run % fields * bits & mask) << shift, codes + run * 32 + i);
    }
  }
}

// 12 bytes: eight 6-bit scales and eight 6-bit mins. The first four of each fill the low six bits of bytes 0-3 and 4-7;
// of the others, bytes 8-11 hold the low four bits (scale below min) and the top bits of bytes 0-7 the upper two.
void read_scales_and_mins(Bytes b, BlockCodes& out) {
  for (int i = 0; i < 4; ++i) {
    out.scale[i] = static_cast<int8_t>(b[i] & 63);
    out.min[i] = static_cast<int8_t>(b[4 + i] & 63);
    out.scale[4 + i] = static_cast<int8_t>((b[8 + i] & 15) | (b[i] >> 6) << 4);
    out.min[4 + i] = static_cast<int8_t>(b[8 + i] >> 4 | (b[4 + i] >> 6) << 4);
  }
}

void read_q2_k(Bytes b, BlockCodes& out) {
  for (int i = 0; i < 16; ++i) {
    out.scale[i] = static_cast<int8_t>(b[i] & 15);
    out.min[i] = static_cast<int8_t>(b[i] >> 4);
  }
  add_fields(b + 16, 4, 0, out.codes);
  out.d = u16_at(b + 80);
  out.m = u16_at(b + 82);
}

void read_q3_k(Bytes b, BlockCodes& out) {
  add_fields(b + 32, 4, 0, out.codes);
  add_fields(b, 8, 2, out.codes);
  const Bytes packed = b + 96;
  for (int i = 0; i < 16; ++i) {
    const int low = packed[i % 8] >> (i / 8 * 4) & 15;
    const int high = packed[8 + i % 4] >> (i / 4 * 2) & 3;
    out.scale[i] = static_cast<int8_t>((low | high << 4) - 32);
  }
  out.d = u16_at(b + 108);
}

void read_q4_k(Bytes b, BlockCodes& out) {
  out.d = u16_at(b);
  out.m = u16_at(b + 2);
  read_scales_and_mins(b + 4, out);
  add_fields(b + 16, 2, 0, out.codes);
}

void read_q5_k(Bytes b, BlockCodes& out) {
  out.d = u16_at(b);
  out.m = u16_at(b + 2);
  read_scales_and_mins(b + 4, out);
  add_fields(b + 48, 2, 0, out.codes);
  add_fields(b + 16, 8, 4, out.codes);
}

// The 4-bit plane has runs of 64 elements: 64 bytes hold elements 0-63 in their low and 64-127 in their high nibbles.
void read_q6_k(Bytes b, BlockCodes& out) {
  for (int i = 0; i < 256; i += 8) {
    or_eight(eight_at(b + i / 128 * 64 + i % 64) >> i % 128 / 64 * 4 & 15 * kEachByte, out.codes + i);
  }
  add_fields(b + 128, 4, 4, out.codes);
  std::memcpy(out.scale, b + 192, 16);
  out.d = u16_at(b + 208);
}

void read_iq4_xs(Bytes b, BlockCodes& out) {
  out.d = u16_at(b);
  const int high = u16_at(b + 2);
  for (int i = 0; i < 8; ++i) {
    const int low = b[4 + i / 2] >> (i % 2 * 4) & 15;
    out.scale[i] = static_cast<int8_t>((low | (high >> (2 * i) & 3) << 4) - 32);
    split_nibbles(b + 8 + 16 * i, out.codes + 32 * i);
  }
}

// The 32-element types: d, then m if has_min, the fifth bits if has_fifth, nibbles.
void read_small(Bytes b, bool has_min, bool has_fifth, BlockCodes& out) {
  out.d = u16_at(b);
  b += 2;
  if (has_min) {
    out.m = u16_at(b);
    b += 2;
  }
  split_nibbles(has_fifth ? b + 4 : b, out.codes);
  if (has_fifth) add_fifth_bits(b, out.codes);
}

}  // namespace

BlockShape block_shape(PanelFormat format) {
  constexpr BlockShape kShapes[kNumPanelFormats] = {{32, 18},  {32, 20},   {32, 22},   {32, 24},   {32, 34},
                                                    {256, 84}, {256, 110}, {256, 144}, {256, 176}, {256, 210},
                                                    {32, 18},  {256, 136}, {1, 4},     {1, 2},     {1, 2}};
  return kShapes[static_cast<int>(format)];
}

void read_block(PanelFormat format, const std::byte* src, BlockCodes& out) {
  const Bytes b = reinterpret_cast<Bytes>(src);
  if (block_shape(format).elements > 32) out = BlockCodes{};
  switch (format) {
    case PanelFormat::kQ4_0:
    case PanelFormat::kIQ4_NL:
      return read_small(b, /*has_min=*/false, /*has_fifth=*/false, out);
    case PanelFormat::kQ4_1:
      return read_small(b, /*has_min=*/true, /*has_fifth=*/false, out);
    case PanelFormat::kQ5_0:
      return read_small(b, /*has_min=*/false, /*has_fifth=*/true, out);
    case PanelFormat::kQ5_1:
      return read_small(b, /*has_min=*/true, /*has_fifth=*/true, out);
    case PanelFormat::kQ8_0:
      out.d = u16_at(b);
      for (int i = 0; i < 32; ++i) out.codes[i] = b[2 + i] ^ 0x80;
      return;
    case PanelFormat::kQ2_K:
      return read_q2_k(b, out);
    case PanelFormat::kQ3_K:
      return read_q3_k(b, out);
    case PanelFormat::kQ4_K:
      return read_q4_k(b, out);
    case PanelFormat::kQ5_K:
      return read_q5_k(b, out);
    case PanelFormat::kQ6_K:
      return read_q6_k(b, out);
    case PanelFormat::kIQ4_XS:
      return read_iq4_xs(b, out);
    case PanelFormat::kF32:
    case PanelFormat::kF16:
    case PanelFormat::kBF16:
      return;
  }
}

}  // namespace brio::kernels
