// Lines: 64 bytes of weight codes, 4 consecutive k (a quad) of the 16 output rows of a panel, output row in the dword lane;
// and the exact integer dot products made of them. Three implementations, isa/*/lines.inl, on top of isa/*/vector.inl;
// generic/linear_sources.inl and generic/linear_tile.inl are written once against them.
//
//   Line      load_line and store_line (64-byte aligned), merge (bitwise or), mask_bytes<m> (and),
//             shift_left<n>, shift_right<n>: bits that enter from a neighbouring byte are undetermined: mask them off
//   kByteBias what 8-bit codes are stored with: rebias turns panel bytes (value + 128) into value + kByteBias,
//             look_up(iq4_levels(), line) turns IQ4 indices into level + kByteBias
//   Bytes16   one byte per output row: field(v, shift, mask) = v >> shift & mask, raise_4 = v << 4, merge;
//             unsigned_to_f32, signed_to_f32, load_f16: 16 numbers of a header as F32x16, exact
//   Ints      16 s32: no_ints; broadcast_int; weighted_pair(sums, low, high) = sums[0] low + sums[1] high in every lane; to_f32
//   Partial   a dot product under way: p = open(total); up to kSpan<bits> times p = multiply_add<bits>(p, line, quad);
//             total = close(p, total). Exact for codes below 2^bits and |x| <= 127.
//   Wide<8>   where kWidensBytes: many rows multiply 8-bit codes as s16. store(two_lines, line): k0 and k1 of each lane, then
//             k2 and k3; widen(x, count, out): activations; total = multiply_add(total, line, broadcast_pair(x)): exact
//   kTileRows, kFloatTileRows  activation rows that share a line, a vector of float weights, in registers
//   kStreams  panels that one row reads side by side
//   kStretchRows, kStretchPanels  activation rows and panels of a tile of expanded codes; kPanelsAtOnce panels are expanded;
//   kReadAhead, kReadAheadOfStream  bytes, of one panel and of kStreams; kL2Bytes  a guess at what CPUs with the ISA have
// and for activations
//   largest_magnitude(a, b)    the largest bits of |a| and |b| as an unsigned number: NaN and infinity come out on top
//   store_rounded(p, v)        16 s8 to nearest even, for |v| <= 127.5; returns their sum
//   store_high_halves(p, v)    the upper 16 bits of each lane: a bf16 where v is one
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/float16.h"
#include "kernels/linear.h"
#include "kernels/linear_layout.h"
#include "kernels/vector.h"
