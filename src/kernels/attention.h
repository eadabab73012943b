// Attention kernels: keys and values into the cache, and softmax(q k^T) v for a few queries over 256 tokens at a time.
//
// Layout  tiles of 32 tokens of one KV head, as tensor/kv_layout.h states, 64-byte aligned:
//           bf16  K [head_dim/2][32][2]   V [16 token pairs][head_dim][2]        f32  K [head_dim][32]   V [32][head_dim]
//           int8  kernels/kv_tile.h: byte codes and a scale per token
//         K has the token in the lane and V the channel: no horizontal sum anywhere but in softmax. head_dim even.
// Order   (DESIGN R4; the same for decode, prefill and verify, and for a query alone or with others)
//         q       fl(q * scale), with bf16 keys then rounded to bf16, once
//         score   acc = 0; bf16: per channel pair ascending fma(odd, odd), fma(even, even); f32: fma in channel order;
//                 then softcap * tanh(score / softcap) if asked; tokens outside the query's range become -inf
//         split   256 tokens at positions 256 s .. 256 s + 255: m = max score; p = exp(score - m); l = sum of p in 16 lanes
//                 (token mod 16) ascending, then the tree of row.h; p rounded to bf16 for bf16 values;
//                 o = 0; bf16: per token pair ascending fma(odd), fma(even); f32: fma in token order
//         merge   splits ascending, a first split is copied: m' = max(m, ms), a = exp(m - m'), b = exp(ms - m'),
//                 l = fma(l, a, ls b), o = fma(o, a, os b); at the end (o + 0) / l (+ 0: no negative zero survives, so
//                 that skipping a masked tile and adding its exact zeros give equal bits)
// int8    the same splits, softmax and merge, on exact integer sums:
//         store   scale = amax / 127, integer = rint(x (127 / amax)); amax < 2^-110: 0; NaN or infinity in x: scale NaN
//         q       integers -32512 .. 32512 of fl(q * scale) by the same rule, with their own scale sq (16 bits, so that q
//                 adds next to nothing to what 8 bits of k cost; vpdpbusd takes them in two halves)
//         score   (fl(sum of q k integers) * scale of k) * sq
//         values  w = fl(p * scale of v), 0 for tokens outside the query's range; integers of w by the same rule over the
//                 split, unit sw; o = fl(sum of w v integers) * sw. A NaN scale that the query sees makes all of o NaN.
// Masks   tokens that a query may not see contribute nothing, whatever their bytes: stale NaN never meets arithmetic
//         (scores are selected, value halves are zeroed; if a value some query sees and another does not is NaN or
//         infinite, the queries run one by one).
// Error   against exact arithmetic on the stored K, V and rounded q, bf16: |o - exact| <= (2^-9 + (head_dim + 400) 2^-24 S)
//         max |v| roughly, S = max |score|; tests state the bound they use. int8: a unit of q and of w is 2^-16 of the
//         largest, half of it the error of each: |o - exact| <= (2^-16 (256 + head_dim) (1 + S) + 400 2^-24 S) max |v|.
// Rows    up to kAttentionRows = 6 queries share each K and V vector: 6 x 2 ymm accumulators + 2 of K + 1 broadcast = 15 of
//         16 registers, 24 fma (12 cycles) per 16 loads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/kv_tile.h"

namespace brio::kernels {

inline constexpr int kSplitTokens = 256;
inline constexpr int kSplitTiles = kSplitTokens / kTileTokens;
inline constexpr int kAttentionRows = 6;
inline constexpr int kMaxHeadDim = 512;

// What a query knows after some splits. Before the first, sum is 0 and the rest is not read.
struct AttentionState {
  float max = 0.0F;
  float sum = 0.0F;
  float* out = nullptr;  // [head_dim], not divided by sum yet
};

// One KV head's tiles of one split. Tiles that no query sees may be null.
struct AttentionSplit {
  const std::byte* k[kSplitTiles] = {};
  const std::byte* v[kSplitTiles] = {};
  const std::byte* next_k[kSplitTiles] = {};  // of the next split, to be fetched; all, or next_k[0] is null
};

// Queries that share the split's KV head. Ranges are tokens of the split, 0 <= begin < end <= 256: at least one each.
struct AttentionQueries {
  int count = 0;                        // 1 .. kAttentionRows
  const float* q[kAttentionRows] = {};  // [head_dim], rotated, not scaled
  int begin[kAttentionRows] = {};
  int end[kAttentionRows] = {};
  AttentionState* state[kAttentionRows] = {};
};

struct AttentionParameters {
  int head_dim = 0;
  float scale = 1.0F;
  float softcap = 0.0F;   // 0: none
  bool prefetch = false;  // fetch values while scoring, the next keys while weighing: for the first to read them
};

inline constexpr int kNumKvTypes = 3;  // [0] bf16 tiles, [1] f32 tiles, [2] int8 tiles

struct AttentionKernels {
  // Attends the split and merges it into each query's state.
  void (*attend[kNumKvTypes])(const AttentionQueries& queries, const AttentionSplit& split,
                              const AttentionParameters& parameters);
  // state = merge(state, split): as attend does it, for splits attended elsewhere. split.sum > 0.
  void (*merge)(AttentionState& state, const AttentionState& split, int head_dim);
  // out = (state.out + 0) / state.sum                                                                  out [head_dim]
  void (*finish)(const AttentionState& state, int head_dim, float* out);
  // Writes token 0 .. 31 of a tile: x [head_dim]; bf16 to nearest even, subnormals flushed.
  void (*store_key[kNumKvTypes])(const float* x, int head_dim, int token, std::byte* tile);
  void (*store_value[kNumKvTypes])(const float* x, int head_dim, int token, std::byte* tile);
};

const AttentionKernels& attention_kernels(Isa isa);

}  // namespace brio::kernels
