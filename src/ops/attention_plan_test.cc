// Every row meets every split that it sees exactly once per KV head, however the work is cut.
#include "ops/attention_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "base/rng.h"
#include "kernels/attention.h"

namespace brio::ops {
namespace {

// Rows of a random step: runs of prefill and single decode rows, some of which see nothing.
std::vector<Row> random_step(Rng& rng) {
  std::vector<Row> rows;
  const int num_sequences = 1 + static_cast<int>(rng.below(5));
  for (int s = 0; s < num_sequences; ++s) {
    const int first = static_cast<int>(rng.below(3000));
    const int count = rng.below(2) == 0 ? 1 : 1 + static_cast<int>(rng.below(100));
    for (int i = 0; i < count; ++i) {
      Row row;
      row.sequence = s;
      row.position = first + i;
      row.visible_end = rng.below(20) == 0 ? 0 : row.position + 1;
      rows.push_back(row);
    }
  }
  return rows;
}

TEST(AttentionPlan, CoversEachSplitOfEachRowOnce) {
  Rng rng(5);
  AttentionPlan plan;  // reused, as in CpuOps
  for (int round = 0; round < 200; ++round) {
    const std::vector<Row> rows = random_step(rng);
    tensor::KvSpec spec;
    spec.num_kv_heads = 1 + static_cast<int>(rng.below(4));
    if (rng.below(2) == 0) {
      spec.kind = tensor::KvSpec::Kind::kWindow;
      spec.window = 1 + static_cast<int>(rng.below(700));
    }
    const int group = 1 + static_cast<int>(rng.below(70));
    plan_attention(rows, spec, group, 1 + static_cast<int>(rng.below(6)), plan);
    std::map<std::tuple<int, int, int>, int> met;  // (row, kv head, split)
    std::map<int, int> items_of;
    std::set<int64_t> partials;
    for (const AttentionItem& item : plan.items) {
      const AttentionTile& tile = plan.tiles.at(static_cast<size_t>(item.tile));
      ++items_of[item.tile];
      ASSERT_LE((tile.row_end - tile.row_begin) * group, plan.max_queries);
      for (int split = item.split_begin; split < item.split_end; ++split) {
        for (int r = tile.row_begin; r < tile.row_end; ++r) {
          ASSERT_EQ(rows[r].sequence, rows[tile.row_begin].sequence);
          ++met[{r, tile.kv_head, split}];
        }
        const int queries = (tile.row_end - tile.row_begin) * group;
        for (int q = 0; tile.partial >= 0 && q < queries; ++q) {
          const int64_t at = tile.partial + int64_t{split - tile.split_begin} * queries + q;
          ASSERT_LT(at, plan.num_partials);
          ASSERT_TRUE(partials.insert(at).second) << "two results in one place";
        }
      }
    }
    for (size_t t = 0; t < plan.tiles.size(); ++t) {
      ASSERT_EQ(items_of[static_cast<int>(t)], plan.tiles[t].num_items);
      ASSERT_EQ(plan.tiles[t].num_items > 1, plan.tiles[t].partial >= 0);
    }
    for (const auto& [key, count] : met) ASSERT_EQ(count, 1);
    for (size_t r = 0; r < rows.size(); ++r) {
      const KeyRange keys = plan.keys[r];
      ASSERT_EQ(keys.end, rows[r].visible_end);
      for (int t = keys.begin; t < keys.end; t += 97) {
        for (int head = 0; head < spec.num_kv_heads; ++head) {
          ASSERT_EQ(met.count({static_cast<int>(r), head, t / kernels::kSplitTokens}), 1U) << r << ' ' << t;
        }
      }
    }
  }
}

TEST(AttentionPlan, ALoneLongRowIsSharedByTheThreads) {
  Row row;
  row.position = 8191;
  row.visible_end = 8192;
  tensor::KvSpec spec;
  spec.num_kv_heads = 1;
  AttentionPlan plan;
  plan_attention({&row, 1}, spec, 4, 2, plan);
  EXPECT_GE(plan.items.size(), 8U);
  plan_attention({&row, 1}, spec, 4, 1, plan);
  EXPECT_EQ(plan.items.size(), 1U);
}

TEST(AttentionPlan, AWindowNarrowsTheBegin) {
  Row row;
  row.position = 100;
  row.visible_begin = 3;
  row.visible_end = 101;
  tensor::KvSpec spec;
  spec.kind = tensor::KvSpec::Kind::kWindow;
  spec.window = 5;
  EXPECT_EQ(visible_keys(row, spec).begin, 96);
  spec.window = 500;
  EXPECT_EQ(visible_keys(row, spec).begin, 3);
}

}  // namespace
}  // namespace brio::ops
