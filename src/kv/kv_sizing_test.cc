#include "kv/kv_sizing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace brio::kv {
namespace {

using tensor::KvSpec;

KvSpec full() {
  return {KvSpec::Kind::kFull, 0, 2, 64, tensor::KvType::kBF16};
}
KvSpec window(int size) {
  return {KvSpec::Kind::kWindow, size, 2, 64, tensor::KvType::kBF16};
}

TEST(KvSizing, LayersWithEqualSpecsShareAGroup) {
  const std::vector<KvSpec> layers = {window(8), window(8), full(), window(8), full()};
  const std::vector<GroupShape> groups = group_layers(layers);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].layers, (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(groups[1].layers, (std::vector<int>{2, 4}));
  EXPECT_EQ(groups[1].block_bytes(), 2 * 32 * 64 * 2 * 2 * 2);  // K and V, tokens, head_dim, heads, bytes, layers
}

// A sequence's memory by hand: K and V of 2 heads of 64 channels; int8 has a byte a channel and a scale a token.
TEST(KvSizing, BytesFollowTheType) {
  const auto bytes_of = [](tensor::KvType type, int head_dim) {
    return GroupShape{{KvSpec::Kind::kFull, 0, 2, head_dim, type}, {0}}.block_bytes() / tensor::kBlockTokens;
  };
  EXPECT_EQ(bytes_of(tensor::KvType::kF32, 64), 2 * 2 * 64 * 4);
  EXPECT_EQ(bytes_of(tensor::KvType::kBF16, 64), 2 * 2 * 64 * 2);
  EXPECT_EQ(bytes_of(tensor::KvType::kInt8, 64), 2 * 2 * (64 + 4));
  EXPECT_EQ(bytes_of(tensor::KvType::kInt8, 18), 2 * 2 * (20 + 4));  // keys come in quads of channels
}

// The blocks of a window group by brute force: the worst chunk and alignment of a sequence that is computed in chunks.
TEST(KvSizing, WindowNeedCoversTheWorstAlignmentAndNotMore) {
  for (int size : {1, 5, 31, 32, 33, 100, 512}) {
    for (int chunk : {1, 7, 32, 33, 200}) {
      const int tokens = 2000;
      int worst = 0;
      for (int begin = 0; begin + chunk <= tokens; ++begin) {
        const int first = std::max(0, begin - size + 1) / 32;
        worst = std::max(worst, (begin + chunk - 1) / 32 - first + 1);
      }
      EXPECT_EQ(blocks_needed(window(size), tokens, chunk), worst) << size << " " << chunk;
    }
  }
  EXPECT_EQ(blocks_needed(window(512), 40, 200), 2);
  EXPECT_EQ(blocks_needed(full(), 2000, 200), 63);
}

TEST(KvSizing, BudgetIsRespectedAndTheFirstSequenceAlwaysFits) {
  const std::vector<GroupShape> groups = group_layers(std::vector<KvSpec>{window(64), full(), full()});
  for (int64_t budget : {int64_t{1} << 20, int64_t{3} << 20, int64_t{100} << 20}) {
    KvDemand demand{1000, 16, 128, budget};
    auto blocks = size_groups(groups, demand);
    const int64_t one = sequence_bytes(groups, 1000, 128);
    if (one > budget) {
      ASSERT_FALSE(blocks.ok());
      EXPECT_EQ(blocks.error().code, ErrorCode::kOutOfMemory);
      continue;
    }
    ASSERT_TRUE(blocks.ok());
    int64_t bytes = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      EXPECT_GE((*blocks)[g], blocks_needed(groups[g].spec, 1000, 128));
      EXPECT_LE((*blocks)[g], 16 * blocks_needed(groups[g].spec, 1000, 128));
      bytes += (*blocks)[g] * groups[g].block_bytes();
    }
    EXPECT_LE(bytes, budget);
    // What is left over would not make one of the others a block longer, or all are as long as they may be.
    const int64_t one_more = groups[0].block_bytes() + groups[1].block_bytes();
    EXPECT_TRUE(bytes > budget - one_more || (*blocks)[1] == 16 * blocks_needed(groups[1].spec, 1000, 128));
  }
}

TEST(KvSizing, LongestContextIsTheLargestThatFits) {
  const std::vector<GroupShape> groups = group_layers(std::vector<KvSpec>{window(64), full()});
  for (int64_t budget = 0; budget < 3'000'000; budget += 77'777) {
    const int longest = longest_context(groups, budget, 100, 4096);
    EXPECT_LE(sequence_bytes(groups, longest, 100), budget);
    if (longest < 4096) {
      EXPECT_GT(sequence_bytes(groups, longest + 32, 100), budget);
    }
  }
}

TEST(KvSizing, RefusalSaysWhatWouldFit) {
  const std::vector<GroupShape> groups = group_layers(std::vector<KvSpec>{full()});
  const int64_t budget = 10 * groups[0].block_bytes();
  auto blocks = size_groups(groups, {1000, 4, 128, budget});
  ASSERT_FALSE(blocks.ok());
  EXPECT_NE(blocks.error().hint.find("320 tokens"), std::string::npos) << blocks.error().hint;
  ASSERT_FALSE(size_groups(groups, {INT32_MAX / 2, 1000, 128, 0}).ok());  // more blocks than ids
}

}  // namespace
}  // namespace brio::kv
