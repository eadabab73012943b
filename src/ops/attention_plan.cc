#include "ops/attention_plan.h"

#include <algorithm>

#include "kernels/attention.h"

namespace brio::ops {
namespace {

// Queries of a tile: 8 register tiles of 6. Their outputs (48 x 128 floats = 24 KiB) and a split of keys and values
// (256 x 128 x 2 x 2 bytes = 128 KiB) share a 512 KiB L2, and the split is read from memory once for all of them.
constexpr int kTileQueries = 48;
// Items for each thread to claim: enough that the last one to finish idles the others by at most an eighth.
constexpr int kItemsPerThread = 8;

void add_items(AttentionTile& tile, int tile_index, int64_t cost, int64_t target, int num_queries,
               AttentionPlan& plan) {
  const int splits = tile.split_end - tile.split_begin;
  const int64_t wanted = target > 0 ? (cost + target - 1) / target : 1;
  tile.num_items = static_cast<int>(std::clamp<int64_t>(wanted, 1, std::max(splits, 1)));
  if (tile.num_items > 1) {
    tile.partial = plan.num_partials;
    plan.num_partials += int64_t{splits} * num_queries;
  }
  for (int i = 0; i < tile.num_items; ++i) {
    AttentionItem item;
    item.tile = tile_index;
    item.split_begin = tile.split_begin + static_cast<int>(int64_t{splits} * i / tile.num_items);
    item.split_end = tile.split_begin + static_cast<int>(int64_t{splits} * (i + 1) / tile.num_items);
    item.cost = cost / tile.num_items;
    plan.items.push_back(item);
  }
}

}  // namespace

KeyRange visible_keys(const Row& row, const tensor::KvSpec& spec) {
  int32_t begin = row.visible_begin;
  if (spec.kind == tensor::KvSpec::Kind::kWindow) begin = std::max(begin, row.position - spec.window + 1);
  return {begin, row.visible_end};
}

void plan_attention(std::span<const Row> rows, const tensor::KvSpec& spec, int heads_per_group, int num_threads,
                    AttentionPlan& plan) {
  plan.keys.clear();
  plan.tiles.clear();
  plan.items.clear();
  plan.num_partials = 0;
  plan.max_queries = 0;
  plan.total_cost = 0;
  for (const Row& row : rows) {
    plan.keys.push_back(visible_keys(row, spec));
    const KeyRange& keys = plan.keys.back();
    plan.total_cost += int64_t{std::max(keys.end - keys.begin, 0)} * heads_per_group * spec.num_kv_heads;
  }
  const int64_t target = num_threads > 1 ? std::max<int64_t>(plan.total_cost / (num_threads * kItemsPerThread), 1) : 0;
  const int tile_rows = std::max(1, kTileQueries / heads_per_group);
  const int num_rows = static_cast<int>(rows.size());
  for (int begin = 0, end = 0; begin < num_rows; begin = end) {
    int64_t cost = 0;
    KeyRange seen = {INT32_MAX, 0};
    for (; end < num_rows && end - begin < tile_rows && rows[end].sequence == rows[begin].sequence; ++end) {
      const KeyRange& keys = plan.keys[static_cast<size_t>(end)];
      if (keys.begin >= keys.end) continue;
      cost += int64_t{keys.end - keys.begin} * heads_per_group;
      seen = {std::min(seen.begin, keys.begin), std::max(seen.end, keys.end)};
    }
    AttentionTile tile;
    tile.row_begin = begin;
    tile.row_end = end;
    if (seen.begin < seen.end) {
      tile.split_begin = seen.begin / kernels::kSplitTokens;
      tile.split_end = (seen.end + kernels::kSplitTokens - 1) / kernels::kSplitTokens;
    }
    const int queries = (end - begin) * heads_per_group;
    plan.max_queries = std::max(plan.max_queries, queries);
    for (tile.kv_head = 0; tile.kv_head < spec.num_kv_heads; ++tile.kv_head) {
      tile.partial = -1;
      add_items(tile, static_cast<int>(plan.tiles.size()), cost, target, queries, plan);
      plan.tiles.push_back(tile);
    }
  }
  std::stable_sort(plan.items.begin(), plan.items.end(),
                   [](const AttentionItem& a, const AttentionItem& b) { return a.cost > b.cost; });
}

}  // namespace brio::ops
