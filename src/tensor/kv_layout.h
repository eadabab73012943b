// How keys and values lie in memory: blocks of 32 tokens, one record per (block, layer), and what attention sees of them.
//
// A record holds, for each KV head in turn, a K tile and then a V tile of 32 tokens:
//   bf16  K [head_dim/2][32 tokens][2]   token in the lane: scores need no horizontal sum
//         V [16 token pairs][head_dim][2]
//   f32   K [head_dim][32 tokens]        V [32 tokens][head_dim]
//   int8  byte codes and one fp32 scale per token, kernels/kv_tile.h. Keys are stored divided by a factor per channel that
//         queries are multiplied by (model/key_factors.h).
// Tiles start at multiples of 64 bytes. kv owns the records; ops and kernels read and write them through KvLayerView;
// nobody else computes an address inside one. Addresses come per (block, layer) at step time: never base + stride.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/kv_tile.h"

namespace brio::tensor {

inline constexpr int kBlockTokens = 32;

enum class KvType : uint8_t { kBF16, kF32, kInt8 };

std::string_view name(KvType type);  // "bf16", "f32", "int8"

// What one layer keeps. Layers with equal specs form a KV group: one pool record size, one block table per sequence.
struct KvSpec {
  enum class Kind : uint8_t { kFull, kWindow };
  Kind kind = Kind::kFull;
  int window = 0;  // kWindow: a query at position p sees keys in (p - window, p]
  int num_kv_heads = 0;
  int head_dim = 0;
  KvType type = KvType::kBF16;
  bool operator==(const KvSpec&) const = default;
};

// Bytes of one K tile or V tile (32 tokens of one head), rounded up to a cache line.
inline constexpr int64_t tile_bytes(const KvSpec& spec) {
  if (spec.type == KvType::kInt8) return kernels::int8_tile_bytes(spec.head_dim);
  const int64_t element = spec.type == KvType::kBF16 ? 2 : 4;
  return (int64_t{kBlockTokens} * spec.head_dim * element + 63) / 64 * 64;
}
// Bytes of one block in one layer.
inline constexpr int64_t record_bytes(const KvSpec& spec) {
  return 2 * tile_bytes(spec) * spec.num_kv_heads;
}

// One layer of the cache during one step. blocks[s][b] is the record of logical block b (positions 32 b .. 32 b + 31) of
// the step's sequence s; null where a window group has released the block. On the null device every record is null.
struct KvLayerView {
  const KvSpec* spec = nullptr;
  std::span<const std::span<std::byte* const>> blocks;  // [sequences in the step][logical blocks]
};

// What is stored of one token and KV head: channel c of its key and of its value, as fp32 (proofs and tests). An int8 key
// is given as stored, without its factor.
struct StoredToken {
  std::vector<float> key, value;  // [head_dim]
};
StoredToken read_token(const KvLayerView& view, int32_t sequence, int32_t position, int head);

}  // namespace brio::tensor
