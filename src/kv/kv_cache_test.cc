#include "kv/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/rng.h"

namespace brio::kv {
namespace {

using tensor::kBlockTokens;
using tensor::KvSpec;

KvSpec full() {
  return {KvSpec::Kind::kFull, 0, 1, 32, tensor::KvType::kF32};
}
KvSpec window(int size) {
  return {KvSpec::Kind::kWindow, size, 1, 32, tensor::KvType::kF32};
}

std::unique_ptr<KvCache> make(const std::vector<KvSpec>& layers, int blocks, int max_chunk,
                              Poison poison = Poison::kYes) {
  KvOptions options;
  options.demand.max_chunk = max_chunk;
  options.blocks_per_group = blocks;
  options.poison = poison;
  auto kv = KvCache::create(layers, options);
  EXPECT_TRUE(kv.ok());
  return std::move(kv).value();
}

// One number per (layer, sequence, position), kept at the head of the position's slot in its record.
float& slot(const tensor::KvLayerView& view, int sequence, int position) {
  std::byte* record = view.blocks[static_cast<size_t>(sequence)][static_cast<size_t>(position / kBlockTokens)];
  return reinterpret_cast<float*>(record)[position % kBlockTokens];
}

// The oracle: every sequence's values in a plain array.
struct Mirror {
  std::vector<float> values;
  int window_begin(int window, int position) const { return std::max(0, position - window + 1); }
};

constexpr int kWindow = 40;
constexpr int kChunk = 50;

class History {
 public:
  History(uint64_t seed, int blocks)
      : rng_(seed), kv_(make({window(kWindow), full(), window(kWindow)}, blocks, kChunk)) {}

  void step() {
    const uint32_t what = rng_.below(10);
    if (what == 0) {
      sequences_[kv_->open()];
    } else if (what == 1 && !sequences_.empty()) {
      kv_->close(pick()->first);
      sequences_.erase(picked_);
    } else if (what == 2 && !sequences_.empty() && !pick()->second.values.empty()) {
      const int length = static_cast<int>(picked_->second.values.size());
      sequences_[kv_->fork(picked_->first, length)] = picked_->second;
    } else {
      write();
    }
    kv_->check();
  }

 private:
  using Sequences = std::map<SequenceId, Mirror>;
  Sequences::iterator pick() {
    picked_ = std::next(sequences_.begin(), rng_.below(static_cast<uint32_t>(sequences_.size())));
    return picked_;
  }

  // One step over a random subset: reserve, begin, write new positions, compare all that later queries may see.
  void write() {
    std::vector<SequenceId> ids;
    std::vector<int> ends;
    for (auto& [id, mirror] : sequences_) {
      if (rng_.below(2) == 0) continue;
      const int begin = static_cast<int>(mirror.values.size());
      const int end = begin + 1 + static_cast<int>(rng_.below(kChunk));
      const int32_t free_before = kv_->pool(1).num_free();
      if (!kv_->reserve(id, begin, end)) {
        ASSERT_EQ(kv_->pool(1).num_free(), free_before);
        continue;
      }
      ids.push_back(id);
      ends.push_back(end);
    }
    kv_->begin(ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      Mirror& mirror = sequences_[ids[i]];
      const int begin = static_cast<int>(mirror.values.size());
      for (int p = begin; p < ends[i]; ++p) {
        mirror.values.push_back(next_value_);
        for (int l = 0; l < 3; ++l) slot(kv_->layer(l), static_cast<int>(i), p) = next_value_ + static_cast<float>(l);
        next_value_ += 4.0F;
      }
      for (int l = 0; l < 3; ++l) {
        const int first = l == 1 ? 0 : mirror.window_begin(kWindow, begin);
        for (int p = first; p < ends[i]; ++p) {
          ASSERT_EQ(slot(kv_->layer(l), static_cast<int>(i), p),
                    mirror.values[static_cast<size_t>(p)] + static_cast<float>(l))
              << "layer " << l << " sequence " << ids[i] << " position " << p;
        }
      }
    }
  }

  Rng rng_;
  std::unique_ptr<KvCache> kv_;
  Sequences sequences_;
  Sequences::iterator picked_;
  float next_value_ = 1.0F;
};

TEST(KvCache, RandomHistoriesReadBackWhatAPlainArrayHolds) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    History history(seed, 12 + static_cast<int>(seed));
    for (int i = 0; i < 250; ++i) {
      history.step();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << i;
    }
  }
}

TEST(KvCache, WindowGroupStaysFlatWhileTheFullGroupGrows) {
  auto kv = make({window(64), full()}, 100, 16);
  const SequenceId s = kv->open();
  for (int p = 0; p < 3000; ++p) {
    ASSERT_TRUE(kv->reserve(s, p, p + 1));
    ASSERT_LE(kv->table(0, s).num_held(), blocks_needed(window(64), 3000, 16));
    ASSERT_LE(kv->table(0, s).num_held(), 3);  // 64 tokens touch three blocks at most
    ASSERT_EQ(kv->table(1, s).num_held(), p / 32 + 1);
  }
}

// A prompt is reserved in a window group; others then take every block that it lets go of, the moment they can.
TEST(KvCache, AdmittedPromptNeverRunsDryWhateverOthersTake) {
  for (int chunk : {1, 7, 16}) {
    auto kv = make({window(64)}, 10, 16);
    const SequenceId s = kv->open();
    ASSERT_TRUE(kv->reserve(s, 0, 1000));
    for (int p = 0; p < 1000; p += chunk) {
      while (kv->reserve(kv->open(), 0, 1)) continue;
      ASSERT_EQ(kv->pool(0).num_free(), 0);
      ASSERT_TRUE(kv->reserve(s, p, 1000)) << p;
      ASSERT_GE(kv->table(0, s).size() * 32, std::min(p + chunk, 1000));
      ASSERT_LE(kv->table(0, s).first_held(), std::max(0, p - 63) / 32);
    }
  }
}

TEST(KvCache, ForkSharesFullBlocksAndCopiesThePartialOneOnWrite) {
  auto kv = make({full()}, 10, 64);
  const SequenceId a = kv->open();
  ASSERT_TRUE(kv->reserve(a, 0, 40));
  kv->begin(std::vector<SequenceId>{a});
  for (int p = 0; p < 40; ++p) slot(kv->layer(0), 0, p) = static_cast<float>(p);
  const SequenceId b = kv->fork(a, 40);
  EXPECT_EQ(kv->pool(0).num_free(), 8);  // nothing copied yet
  ASSERT_TRUE(kv->reserve(b, 40, 41));
  ASSERT_TRUE(kv->reserve(a, 40, 41));
  EXPECT_EQ(kv->pool(0).num_free(), 7);  // one copy for two writers
  EXPECT_EQ(kv->table(0, a)[0], kv->table(0, b)[0]);
  EXPECT_NE(kv->table(0, a)[1], kv->table(0, b)[1]);
  kv->begin(std::vector<SequenceId>{a, b});
  slot(kv->layer(0), 0, 40) = -1.0F;
  slot(kv->layer(0), 1, 40) = -2.0F;
  EXPECT_EQ(slot(kv->layer(0), 0, 40), -1.0F);
  for (int p = 0; p < 40; ++p) EXPECT_EQ(slot(kv->layer(0), 1, p), static_cast<float>(p));
  kv->close(a);
  EXPECT_EQ(kv->reclaimable_blocks(b), 2);
  kv->close(b);
  EXPECT_EQ(kv->pool(0).num_free(), 10);
}

// The source of a pending copy is given back and taken again before begin(): its bytes must still arrive.
TEST(KvCache, PendingCopySurvivesItsSourceBeingReused) {
  auto kv = make({full()}, 3, 64);
  const SequenceId a = kv->open();
  ASSERT_TRUE(kv->reserve(a, 0, 8));
  kv->begin(std::vector<SequenceId>{a});
  for (int p = 0; p < 8; ++p) slot(kv->layer(0), 0, p) = static_cast<float>(p);
  const SequenceId b = kv->fork(a, 8);
  ASSERT_TRUE(kv->reserve(b, 8, 9));
  kv->close(a);
  const SequenceId c = kv->open();
  ASSERT_TRUE(kv->reserve(c, 0, 64));
  kv->begin(std::vector<SequenceId>{b, c});
  for (int p = 0; p < 8; ++p) EXPECT_EQ(slot(kv->layer(0), 0, p), static_cast<float>(p));
}

TEST(KvCache, FreedBlocksArePoisoned) {
  auto kv = make({full()}, 1, 64);
  const SequenceId a = kv->open();
  ASSERT_TRUE(kv->reserve(a, 0, 32));
  kv->begin(std::vector<SequenceId>{a});
  slot(kv->layer(0), 0, 5) = 1.0F;
  kv->close(a);
  const SequenceId b = kv->open();
  ASSERT_TRUE(kv->reserve(b, 0, 32));
  kv->begin(std::vector<SequenceId>{b});
  EXPECT_NE(slot(kv->layer(0), 0, 5), slot(kv->layer(0), 0, 5));  // NaN
}

TEST(KvCache, ReserveIsAllGroupsOrNone) {
  auto kv = make({window(320), full()}, 10, 320);
  const SequenceId a = kv->open();
  ASSERT_TRUE(kv->reserve(a, 0, 160));
  const SequenceId b = kv->open();
  EXPECT_FALSE(kv->reserve(b, 0, 161));
  EXPECT_EQ(kv->pool(0).num_free(), 5);
  EXPECT_EQ(kv->pool(1).num_free(), 5);
  EXPECT_TRUE(kv->fits(160, 0));
  EXPECT_FALSE(kv->fits(160, 1));
  EXPECT_EQ(kv->max_tokens(), 320);
}

TEST(KvCache, NullDeviceHasTablesButNoRecords) {
  KvOptions options;
  options.device = tensor::Device::kNull;
  options.demand = {1 << 20, 64, 512, 0};
  auto kv = KvCache::create(std::vector<KvSpec>{full()}, options);
  ASSERT_TRUE(kv.ok());
  const SequenceId a = (*kv)->open();
  ASSERT_TRUE((*kv)->reserve(a, 0, 100));
  (*kv)->begin(std::vector<SequenceId>{a});
  const tensor::KvLayerView view = (*kv)->layer(0);
  ASSERT_EQ(view.blocks[0].size(), 4U);
  EXPECT_EQ(view.blocks[0][0], nullptr);
}

TEST(KvCacheDeathTest, ClosingTwiceIsCaught) {
  auto kv = make({full()}, 2, 64);
  const SequenceId a = kv->open();
  kv->close(a);
  EXPECT_DEATH(kv->close(a), "closed twice");
}

}  // namespace
}  // namespace brio::kv
