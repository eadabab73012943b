#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/rng.h"

namespace brio::kv {
namespace {

// Against the obvious model: a set of free ids and a count per id.
TEST(BlockPool, RandomHistoriesAgreeWithASetOfFreeIds) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const int total = 1 + static_cast<int>(rng.below(40));
    BlockPool pool(total);
    std::set<BlockId> free;
    for (int i = 0; i < total; ++i) free.insert(i);
    std::vector<BlockId> references;  // one entry per reference
    for (int i = 0; i < 500; ++i) {
      const uint32_t what = rng.below(3);
      if (what == 0 && pool.num_free() > 0) {
        const BlockId block = pool.take();
        ASSERT_EQ(free.erase(block), 1U);
        references.push_back(block);
      } else if (what == 1 && !references.empty()) {
        references.push_back(references[rng.below(static_cast<uint32_t>(references.size()))]);
        pool.share(references.back());
      } else if (what == 2 && !references.empty()) {
        const size_t victim = rng.below(static_cast<uint32_t>(references.size()));
        const BlockId block = references[victim];
        references.erase(references.begin() + static_cast<long>(victim));
        const bool last = std::count(references.begin(), references.end(), block) == 0;
        ASSERT_EQ(pool.give_back(block), last);
        if (last) free.insert(block);
      }
      ASSERT_EQ(pool.num_free(), static_cast<int>(free.size()));
      for (BlockId block : references) {
        ASSERT_EQ(pool.references(block), std::count(references.begin(), references.end(), block));
      }
      pool.check();
    }
  }
}

TEST(BlockPool, TakesWhatWasGivenBackLast) {
  BlockPool pool(5);
  const BlockId a = pool.take();
  const BlockId b = pool.take();
  const BlockId c = pool.take();
  pool.give_back(b);
  pool.give_back(c);
  pool.give_back(a);
  EXPECT_EQ(pool.take(), a);
  EXPECT_EQ(pool.take(), c);
  EXPECT_EQ(pool.take(), b);
}

TEST(BlockPoolDeathTest, MisuseIsCaught) {
  BlockPool pool(2);
  const BlockId block = pool.take();
  pool.give_back(block);
  EXPECT_DEATH(pool.give_back(block), "given back twice");
  EXPECT_DEATH(pool.share(block), "is free");
  EXPECT_DEATH(pool.give_back(2), "block 2 of 2");
  pool.take();
  pool.take();
  EXPECT_DEATH(pool.take(), "no free block");
}

}  // namespace
}  // namespace brio::kv
