#include "engine/batching.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/testing/rig.h"

namespace brio::engine {
namespace {

using std::chrono::milliseconds;
using testing::greedy_request;
using testing::Rig;

EngineOptions with(BatchingMode mode, int size) {
  EngineOptions options;
  options.batching.mode = mode;
  options.batching.size = size;
  options.batching.max_wait = milliseconds(5);
  return options;
}

// Five requests, one after the other with a step between; answers of 2, 6, 2, 2 and 2 tokens.
std::vector<std::string> log_of(EngineOptions options) {
  Rig rig(std::move(options));
  for (int i = 0; i < 5; ++i) {
    rig.submit(greedy_request({1, 2, 3}, i == 1 ? 6 : 2));
    rig.step();
  }
  for (int i = 0; i < 20; ++i) rig.step();
  rig.engine->drain();
  EXPECT_EQ(rig.engine->stats().finished[static_cast<int>(FinishReason::kLength)], 5);
  return rig.log;
}

TEST(Batching, ContinuousJoinsAtEveryStep) {
  EXPECT_EQ(log_of(with(BatchingMode::kContinuous, 8)),
            (std::vector<std::string>{
                "step 1: 3 rows = 0 decode + 3 prefill, 1 sequences: 1.0[0,3)/3; admitted 1",
                "step 2: 4 rows = 1 decode + 3 prefill, 2 sequences: 1.0@3 2.0[0,3)/3; admitted 2",
                "step 3: 4 rows = 1 decode + 3 prefill, 2 sequences: 2.0@3 3.0[0,3)/3; admitted 3",
                "step 4: 5 rows = 2 decode + 3 prefill, 3 sequences: 2.0@4 3.0@3 4.0[0,3)/3; admitted 4",
                "step 5: 5 rows = 2 decode + 3 prefill, 3 sequences: 2.0@5 4.0@3 5.0[0,3)/3; admitted 5",
                "step 6: 2 rows = 2 decode + 0 prefill, 2 sequences: 2.0@6 5.0@3",
                "step 7: 1 rows = 1 decode + 0 prefill, 1 sequences: 2.0@7",
            }));
}

// Waits for two; 3, 4 and 5 wait until the longer of the first two has ended; 5 waits for a sixth, until the drain.
TEST(Batching, StaticWaitsForAFullBatchAndRunsItToItsEnd) {
  const std::vector<std::string> log = log_of(with(BatchingMode::kStatic, 2));
  ASSERT_EQ(log.size(), 10U);
  EXPECT_EQ(log[0], "step 1: 6 rows = 0 decode + 6 prefill, 2 sequences: 1.0[0,3)/3 2.0[0,3)/3; admitted 1 2");
  for (size_t i = 2; i < 6; ++i) EXPECT_NE(log[i].find("1 sequences: 2.0@"), std::string::npos) << log[i];
  EXPECT_NE(log[6].find("; admitted 3 4"), std::string::npos) << log[6];
  EXPECT_EQ(log[8], "step 9: 3 rows = 0 decode + 3 prefill, 1 sequences: 5.0[0,3)/3; admitted 5");
}

// As static, but the first batch starts with what is there after 5 ms, and the last is not left waiting.
TEST(Batching, DynamicStartsWithFewerAtTheDeadline) {
  const std::vector<std::string> log = log_of(with(BatchingMode::kDynamic, 8));
  ASSERT_EQ(log.size(), 6U);
  EXPECT_NE(log[0].find("; admitted 1 2 3 4 5"), std::string::npos) << log[0];
  const std::vector<std::string> pairs = log_of(with(BatchingMode::kDynamic, 2));
  EXPECT_NE(pairs[0].find("; admitted 1 2"), std::string::npos) << pairs[0];
}

TEST(Batching, AStaticBatchStartsWholeThoughItsPromptsFillManySteps) {
  Rig rig(with(BatchingMode::kStatic, 3));  // 64 rows a step
  Rng rng(1);
  for (int i = 0; i < 4; ++i) rig.submit(greedy_request(testing::random_prompt(rng, 100), 2));
  rig.step();
  EXPECT_NE(rig.log[0].find("; admitted 1 2 3"), std::string::npos) << rig.log[0];
  rig.engine->drain();
  EXPECT_EQ(rig.engine->stats().finished[static_cast<int>(FinishReason::kLength)], 4);
}

// Three of 60 tokens and the blocks of two: the third comes with the next batch, though there is no full one.
TEST(Batching, AMemberWithoutRoomIsNextWithoutANewWait) {
  EngineOptions options = with(BatchingMode::kStatic, 3);
  options.kv_blocks = 5;
  Rig rig(options);
  for (int i = 0; i < 4; ++i) rig.submit(greedy_request(std::vector<int32_t>(60, 1), 4));
  rig.run();
  EXPECT_NE(rig.log[0].find("; admitted 1 2"), std::string::npos) << rig.log[0];
  EXPECT_EQ(rig.engine->stats().finished[static_cast<int>(FinishReason::kLength)], 3);
  EXPECT_EQ(rig.engine->stats().waiting, 1);  // not a member: waits for two more
}

TEST(Batching, APlaceThatIsOwedEndsWithWhoIsOwedIt) {
  EngineOptions options = with(BatchingMode::kStatic, 3);
  options.kv_blocks = 5;
  Rig rig(options);
  for (int i = 0; i < 3; ++i) rig.submit(greedy_request(std::vector<int32_t>(60, 1), 4));
  rig.step();
  rig.engine->abort(3);  // ids count from 1: the one that found no room
  rig.run();
  rig.clock.advance(milliseconds(1));
  rig.submit(greedy_request({1, 2, 3}, 4));
  rig.run();
  EXPECT_EQ(rig.engine->stats().waiting, 1) << "it is the first of a batch of three";
}

TEST(Batching, PreemptedMembersComeBackIntoTheirBatch) {
  EngineOptions options = with(BatchingMode::kStatic, 2);
  options.kv_blocks = 5;
  Rig rig(options);
  Rng rng(1);
  rig.submit(greedy_request(testing::random_prompt(rng, 60), 60));
  rig.submit(greedy_request(testing::random_prompt(rng, 30), 60));
  rig.submit(greedy_request(testing::random_prompt(rng, 30), 60));  // never: a batch of one
  for (int i = 0; i < 300; ++i) rig.step();
  EXPECT_GT(rig.engine->stats().preemptions, 0);
  EXPECT_EQ(rig.engine->stats().finished[static_cast<int>(FinishReason::kLength)], 2);
  EXPECT_EQ(rig.engine->stats().waiting, 1);
}

TEST(Batching, NamesAreParsed) {
  for (BatchingMode mode : {BatchingMode::kStatic, BatchingMode::kDynamic, BatchingMode::kContinuous}) {
    EXPECT_EQ(*parse_batching(name(mode)), mode);
  }
  EXPECT_FALSE(parse_batching("Static").ok());
}

}  // namespace
}  // namespace brio::engine
