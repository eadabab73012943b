#include "server/capacity.h"

#include <gtest/gtest.h>

#include "engine/testing/hash_model.h"
#include "kv/kv_sizing.h"

namespace brio::server {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

class CapacityTest : public ::testing::Test {
 protected:
  CapacityTest() { groups = kv::group_layers(model.kv_specs()); }
  int64_t bytes(int tokens) const { return kv::sequence_bytes(groups, tokens, model.limits().max_rows); }

  engine::testing::HashModel model{{}, model::Limits{64, 16}};  // context 4096
  std::vector<kv::GroupShape> groups;
};

TEST_F(CapacityTest, WithPlentyOfMemoryTheTrainedContextAndNoMoreThanIsUseful) {
  const auto chosen = choose_capacity(model, {0, 0, 4}, 64 * kGiB);
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen->context, 4096);
  EXPECT_EQ(chosen->kv_bytes, 4 * bytes(4096));
}

TEST_F(CapacityTest, WithLittleMemoryTheLongestContextThatFits) {
  const int64_t kv = bytes(1024);
  const auto chosen = choose_capacity(model, {0, kv, 4}, 64 * kGiB);
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen->context, 1024);
  EXPECT_EQ(chosen->kv_bytes, kv);
  EXPECT_GT(bytes(chosen->context + 32), kv);
}

TEST_F(CapacityTest, HalfOfWhatTheReserveLeavesWhenNothingIsSaid) {
  const int64_t reserve = int64_t{512} << 20;
  const auto chosen = choose_capacity(model, {0, 0, 1000}, reserve + 2 * bytes(2048));
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen->context, 2048);
  EXPECT_EQ(chosen->kv_bytes, bytes(2048));
}

TEST_F(CapacityTest, AContextIsKeptOrRefused) {
  const auto exact = choose_capacity(model, {1000, 0, 1}, 64 * kGiB);
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ(exact->context, 1000);
  const auto beyond = choose_capacity(model, {5000, 0, 1}, 64 * kGiB);
  EXPECT_EQ(beyond.error().code, ErrorCode::kInvalidArgument);
  const auto large = choose_capacity(model, {4000, bytes(2000), 1}, 64 * kGiB);
  EXPECT_EQ(large.error().code, ErrorCode::kOutOfMemory);
  EXPECT_FALSE(choose_capacity(model, {0, 0, 1}, 1 << 20).ok()) << "no room at all";
}

}  // namespace
}  // namespace brio::server
