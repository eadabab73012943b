// KV sizing: how many blocks each KV group gets, and how many a sequence needs. Pure functions; KvCache and the planner
// of defaults (--ctx, --kv-memory) use them. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "tensor/kv_layout.h"

namespace brio::kv {

// Layers with equal specs: one pool, one record size, one block table per sequence.
struct GroupShape {
  tensor::KvSpec spec;
  std::vector<int> layers;  // model layers, ascending
  int64_t block_bytes() const { return tensor::record_bytes(spec) * static_cast<int64_t>(layers.size()); }
};

// Groups in the order of their first layer.
std::vector<GroupShape> group_layers(std::span<const tensor::KvSpec> layers);

constexpr int blocks_for(int tokens) {
  return (tokens + tensor::kBlockTokens - 1) / tensor::kBlockTokens;
}

// The most blocks a sequence of `tokens` holds at once when a step computes at most max_chunk of its tokens. A window
// group keeps the window - 1 tokens before the chunk and the chunk: n tokens, which at the worst alignment touch
// (n + 62) / 32 blocks.
int blocks_needed(const tensor::KvSpec& spec, int tokens, int max_chunk);

// Bytes that one sequence of `tokens` needs over all groups.
int64_t sequence_bytes(std::span<const GroupShape> groups, int tokens, int max_chunk);

// The longest context for which the budget holds one sequence, at most `limit`, a multiple of 32; 0 when nothing fits.
int longest_context(std::span<const GroupShape> groups, int64_t budget_bytes, int max_chunk, int limit);

struct KvDemand {
  int max_context = 0;       // tokens of one sequence
  int max_sequences = 1;     // running at once
  int max_chunk = 512;       // tokens of one sequence in one step
  int64_t budget_bytes = 0;  // 0: whatever max_sequences of max_context need
};

// Blocks per group: one sequence of max_context, and max_sequences - 1 more that are equally long, as long as the
// budget allows. kOutOfMemory when the first does not fit.
Result<std::vector<int32_t>> size_groups(std::span<const GroupShape> groups, const KvDemand& demand);

}  // namespace brio::kv
