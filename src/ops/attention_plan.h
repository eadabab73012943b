// AttentionPlan: how the attention of one step is cut into independent pieces of work, and where their results go.
//
// A tile is a few consecutive rows of one sequence with the query heads of one KV head: its queries read the same keys. An
// item is a tile over some splits (256 tokens at absolute positions). Usually an item has all splits of its tile and
// merges as it goes; a tile that is too long for one thread (a lone decode row far into a context) becomes several items,
// each leaving its splits unmerged, and whoever finishes last merges them, ascending. Cutting never changes a bit
// (DESIGN R4): it decides placement alone. Pure function of its arguments; built and used by the engine's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/row.h"
#include "tensor/kv_layout.h"

namespace brio::ops {

struct KeyRange {
  int32_t begin = 0;  // keys [begin, end) of a row in this layer; empty if begin >= end
  int32_t end = 0;
};

// The keys that a row sees in a layer: its visible ones, narrowed by the layer's window.
KeyRange visible_keys(const Row& row, const tensor::KvSpec& spec);

struct AttentionTile {
  int row_begin = 0;  // rows of the step, all of one sequence
  int row_end = 0;
  int kv_head = 0;
  int split_begin = 0;  // splits that some row sees
  int split_end = 0;
  int num_items = 0;
  int64_t partial = -1;  // first partial result (query of a split) of a tile of several items; -1: one item
};

struct AttentionItem {
  int tile = 0;
  int split_begin = 0;
  int split_end = 0;
  int64_t cost = 0;  // query-key pairs
};

struct AttentionPlan {
  std::vector<KeyRange> keys;  // [rows]
  std::vector<AttentionTile> tiles;
  std::vector<AttentionItem> items;  // the longest first
  int64_t num_partials = 0;
  int max_queries = 0;  // of a tile
  int64_t total_cost = 0;
};

// heads_per_group: query heads that share a KV head.
void plan_attention(std::span<const Row> rows, const tensor::KvSpec& spec, int heads_per_group, int num_threads,
                    AttentionPlan& plan);

}  // namespace brio::ops
