// Where things lie in an int8 tile of 32 keys or values of one KV head: codes first, then a scale per token. Shared by the
// attention kernels and tensor/kv_layout.h, which states the other types' tiles.
//
//   K  codes [head_dim/4, rounded up][32 tokens][4 channels]   token in the lane; channels past head_dim hold 0
//   V  codes [8 token quads][head_dim][4 tokens]               channel in the lane
//   scales fp32 [32 tokens] at int8_scales_offset(head_dim), for K and V alike
// A code is a byte: integer + 128, integer -127 .. 127; what is stored of a channel is integer * scale.
#pragma once

#include <cstddef>

namespace brio::kernels {

inline constexpr int kTileTokens = 32;
inline constexpr int kCodeBias = 128;
inline constexpr int kLargestInteger = 127;

constexpr ptrdiff_t int8_scales_offset(int head_dim) {
  return ptrdiff_t{kTileTokens} * ((head_dim + 3) / 4 * 4);
}
// A multiple of 64.
constexpr ptrdiff_t int8_tile_bytes(int head_dim) {
  return int8_scales_offset(head_dim) + ptrdiff_t{kTileTokens} * 4;
}

}  // namespace brio::kernels
