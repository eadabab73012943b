// The blocks of quantised GGUF tensors, taken apart into integers without any arithmetic on them: what the packer moves
// into panels and what the reference multiplies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/linear.h"

namespace brio::kernels {

// One block of one row. codes: unsigned, as stored (Q8_0: value + 128; IQ4: index into kIq4Levels). scale and min: one per
// 32 codes (Q4_K, Q5_K, IQ4_XS) or per 16 (Q2_K, Q3_K, Q6_K), as the file has them except that signed scales (Q3_K,
// IQ4_XS, Q6_K) are already signed. d and m are f16 bits: m is Q4_1's and Q5_1's min or a K-quant's dmin.
struct BlockCodes {
  uint8_t codes[256] = {};
  int8_t scale[16] = {};
  int8_t min[16] = {};
  uint16_t d = 0;
  uint16_t m = 0;
};

struct BlockShape {
  int elements;  // 32 or 256; 1 for floats
  int bytes;
};
BlockShape block_shape(PanelFormat format);

// Reads the block at src (any alignment). Not for F32, F16 and BF16.
void read_block(PanelFormat format, const std::byte* src, BlockCodes& out);

}  // namespace brio::kernels
