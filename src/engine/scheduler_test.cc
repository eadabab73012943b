// Who computes what in which step: order, budgets, fairness, and random histories that must lose nothing.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/testing/byte_tokenizer.h"
#include "engine/testing/rig.h"

namespace brio::engine {
namespace {

using testing::greedy_request;
using testing::HashModelShape;
using testing::random_prompt;
using testing::RecordingSink;
using testing::Rig;

TEST(Scheduler, AStepMixesDecodesWithChunksOfSeveralPrompts) {
  Rig rig;  // 64 rows
  Rng rng(1);
  rig.submit(greedy_request(random_prompt(rng, 4), 10));
  rig.submit(greedy_request(random_prompt(rng, 3), 10));
  rig.step();
  rig.submit(greedy_request(random_prompt(rng, 40), 10));
  rig.submit(greedy_request(random_prompt(rng, 50), 10));
  rig.submit(greedy_request(random_prompt(rng, 20), 10));
  for (int i = 0; i < 3; ++i) rig.step();
  const std::vector<std::string> expected = {
      "step 1: 7 rows = 0 decode + 7 prefill, 2 sequences: 1.0[0,4)/4 2.0[0,3)/3; admitted 1 2",
      "step 2: 64 rows = 2 decode + 62 prefill, 4 sequences: 1.0@4 2.0@3 3.0[0,40)/40 4.0[0,22)/50; admitted 3 4",
      "step 3: 51 rows = 3 decode + 48 prefill, 5 sequences: 1.0@5 2.0@4 3.0@40 4.0[22,50)/50 5.0[0,20)/20; admitted 5",
      "step 4: 5 rows = 5 decode + 0 prefill, 5 sequences: 1.0@6 2.0@5 3.0@41 4.0@50 5.0@20",
  };
  EXPECT_EQ(rig.log, expected);
}

// The lines of steps that preempted somebody.
std::vector<std::string> preempting(const Rig& rig) {
  std::vector<std::string> lines;
  for (const std::string& line : rig.log) {
    if (line.find("; preempted") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

TEST(Scheduler, LackOfBlocksPreemptsAndAdmitsNobodyInThatStep) {
  EngineOptions options;
  options.kv_blocks = 5;
  options.max_sequences = 2;
  Rig rig(options);
  Rng rng(1);
  rig.submit(greedy_request(random_prompt(rng, 60), 60));  // needs a third block at position 64, a fourth at 96
  rig.submit(greedy_request(random_prompt(rng, 10), 60));  // a second at 32, a third at 64: later than that
  rig.submit(greedy_request(random_prompt(rng, 5), 5));    // waits for one of the two
  rig.run();
  const std::vector<std::string> lines = preempting(rig);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("1 sequences: 1.0@96; preempted 2"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0].find("admitted"), std::string::npos) << lines[0];
  EXPECT_EQ(rig.engine->stats().recomputed_tokens, 45);
}

// Prompts of 7 blocks in chunks of one token: many blocks for little work. Request 1 decodes towards a new block.
TEST(Scheduler, TheVictimLosesLeastWorkPerBlock) {
  EngineOptions options;
  options.kv_blocks = 13;
  options.chunking = {Chunking::Kind::kFixed, 1, 0};
  Rig rig(options);
  Rng rng(1);
  rig.submit(greedy_request(random_prompt(rng, 20), 60));  // 1 block, a second at 32
  rig.submit(greedy_request(random_prompt(rng, 20), 60));  // 1 block, a second at 32
  rig.submit(greedy_request(random_prompt(rng, 200), 5));  // 7 blocks
  rig.submit(greedy_request(random_prompt(rng, 20), 60));  // 1 block, a second at 32: the youngest
  rig.run();
  ASSERT_FALSE(preempting(rig).empty());
  EXPECT_NE(preempting(rig)[0].find("; preempted 3"), std::string::npos) << preempting(rig)[0];
}

TEST(Scheduler, TheOldestIsNeverTheVictim) {
  EngineOptions options;
  options.kv_blocks = 9;
  options.chunking = {Chunking::Kind::kFixed, 1, 0};
  Rig rig(options);
  Rng rng(1);
  rig.submit(greedy_request(random_prompt(rng, 200), 5));  // 7 blocks: the cheapest victim, were it not the oldest
  rig.submit(greedy_request(random_prompt(rng, 20), 60));  // 1 block, a second at 32, a third at 64
  rig.run();
  ASSERT_FALSE(preempting(rig).empty());
  for (const std::string& line : preempting(rig)) EXPECT_NE(line.find("; preempted 2"), std::string::npos) << line;
}

// Two of the five blocks are taken, the next prompt wants the three others; then nothing would be left for the next
// token.
TEST(Scheduler, AdmissionLeavesBlocksForThoseWhoRun) {
  EngineOptions options;
  options.kv_blocks = 5;
  Rig rig(options);
  Rng rng(1);
  rig.submit(greedy_request(random_prompt(rng, 60), 30));
  rig.submit(greedy_request(random_prompt(rng, 90), 5));
  rig.run();
  EXPECT_EQ(rig.engine->stats().preemptions, 0);
}

// A stream of small requests fits at every moment; one that needs the whole pool fits at none, unless they wait for it.
TEST(Scheduler, AHeavyRequestIsOvertakenOnlySoOften) {
  EngineOptions options;
  options.kv_blocks = 20;
  Rig rig(options);
  Rng rng(1);
  const auto small = [&] { return rig.submit(greedy_request(random_prompt(rng, 20), 30)); };
  for (int i = 0; i < 5; ++i) small();
  rig.step();
  const auto heavy = rig.submit(greedy_request(random_prompt(rng, 600), 20));
  const RequestId heavy_id = rig.id;
  int admitted_before = 0;
  bool admitted = false;
  for (int i = 0; i < 600 && !heavy->end; ++i) {
    small();
    rig.step();
    const std::string& line = rig.log.back();
    const size_t list = line.find("; admitted ");
    if (list == std::string::npos || admitted) continue;
    const std::string ids = line.substr(list + 11);
    std::istringstream numbers(ids);
    for (RequestId id = 0; numbers >> id;) {
      admitted = admitted || id == heavy_id;
      admitted_before += id > heavy_id && !admitted ? 1 : 0;
    }
  }
  ASSERT_TRUE(heavy->end.has_value());
  EXPECT_GT(admitted_before, 0);
  EXPECT_LE(admitted_before, kMaxOvertakes);
  rig.run();
}

// Four choices that do not fit together, and many small requests that fit beside any of them. One choice's admission does
// not make the others wait anew.
TEST(Scheduler, EachChoiceIsOvertakenOnlySoOften) {
  EngineOptions options;
  options.kv_blocks = 5;
  options.max_sequences = 4;
  options.random_preemption = {6, 1};
  HashModelShape shape;
  shape.windows = {0};
  Rig rig(options, shape, {4, 4});
  Rng rng(1);
  GenerateRequest four = greedy_request(random_prompt(rng, 63), 16);
  four.n = 4;
  rig.submit(four);
  for (int i = 0; i < 40; ++i) rig.submit(greedy_request({1}, 1));
  rig.run();
  int most = 0;
  for (const char* choice : {" 1.1", " 1.2", " 1.3"}) {
    int admitted = 0;  // while this choice computes nothing
    for (const std::string& line : rig.log) {
      if (line.find(choice) != std::string::npos) most = std::max(most, std::exchange(admitted, 0));
      const size_t list = line.find("; admitted ");
      if (list == std::string::npos) continue;
      std::istringstream numbers(line.substr(list + 11));
      for (RequestId id = 0; numbers >> id;) admitted += id > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(most, 0);
  EXPECT_LE(most, kMaxOvertakes);
}

TEST(Scheduler, ForksCountAsManySequences) {
  EngineOptions options;
  options.max_sequences = 4;
  Rig rig(options);
  GenerateRequest three = greedy_request({1, 2, 3}, 10);
  three.n = 3;
  rig.submit(three);
  rig.submit(three);
  rig.submit(greedy_request({4}, 10));
  rig.step();
  EXPECT_NE(rig.log[0].find("admitted 1 3"), std::string::npos) << rig.log[0];
  while (rig.step()) EXPECT_LE(rig.engine->stats().running, 4);
}

// One random life of an engine: everything that can be mixed is mixed.
class History {
 public:
  explicit History(uint64_t seed) : rng_(seed), tokenizer_(testing::byte_tokenizer()) {
    shape_.vocab = 257;
    if (rng_.below(2) == 0) shape_.windows = {40, 0, 70};
    EngineOptions options;
    options.kv_blocks = 8 + static_cast<int>(rng_.below(40));
    options.max_sequences = 1 + static_cast<int>(rng_.below(10));
    options.chunking.kind = static_cast<Chunking::Kind>(rng_.below(4));
    options.chunking.size = 1 + static_cast<int>(rng_.below(50));
    options.chunking.seed = seed;
    options.batching.mode = static_cast<BatchingMode>(rng_.below(3));
    options.batching.size = 1 + static_cast<int>(rng_.below(static_cast<uint32_t>(options.max_sequences)));
    options.batching.max_wait = std::chrono::milliseconds(rng_.below(20));
    max_n_ = std::min(3, options.max_sequences);
    const model::Limits limits{16 + static_cast<int>(rng_.below(60)), 12};
    rig_ = std::make_unique<Rig>(options, shape_, limits, tokenizer_.get());
  }

  void run() {
    for (int i = 0; i < 80; ++i) {
      if (rng_.below(3) == 0) submit();
      if (rng_.below(12) == 0 && !lives_.empty()) abort();
      rig_->step();
    }
    EXPECT_TRUE(rig_->engine->drain());
    const EngineStats stats = rig_->engine->stats();
    EXPECT_EQ(stats.kv_used_blocks, 0);
    EXPECT_EQ(stats.running + stats.waiting, 0);
    int64_t finished = 0;
    for (int64_t count : stats.finished) finished += count;
    EXPECT_EQ(finished, static_cast<int64_t>(lives_.size()));
    for (const Life& life : lives_) check(life);
  }

 private:
  struct Life {
    GenerateRequest request;
    std::shared_ptr<RecordingSink> sink;
    RequestId id = 0;
    bool aborted = false;
  };

  void submit() {
    Life life;
    life.request = greedy_request(random_prompt(rng_, 1 + static_cast<int>(rng_.below(90)), 256), 0);
    life.request.max_tokens = static_cast<int>(rng_.below(60));
    life.request.n = 1 + static_cast<int>(rng_.below(static_cast<uint32_t>(max_n_)));
    if (rng_.below(3) == 0)
      life.request.stop = {std::string(1, static_cast<char>('a' + rng_.below(26))), "\xEF\xBF\xBDq"};
    if (rng_.below(3) == 0) life.request.prompt_logprobs = 1;
    if (rng_.below(3) == 0) life.request.sampling.logit_bias = {{testing::kEndToken, 2.0F}};
    life.sink = rig_->submit(life.request);
    life.id = rig_->id;
    lives_.push_back(std::move(life));
  }
  void abort() {
    Life& life = lives_[rng_.below(static_cast<uint32_t>(lives_.size()))];
    rig_->engine->abort(life.id);
    life.aborted = true;
  }

  void check(const Life& life) const {
    const RecordingSink& sink = *life.sink;
    ASSERT_TRUE(sink.end.has_value()) << "request " << life.id;
    ASSERT_EQ(sink.choices.size(), static_cast<size_t>(life.request.n));
    if (!life.aborted) {
      EXPECT_NE(sink.end->reason, FinishReason::kAbort);
      EXPECT_EQ(sink.prompt.has_value(), life.request.prompt_logprobs >= 0);
    }
    int completion = 0;
    for (const auto& [index, choice] : sink.choices) {
      completion += choice.end->completion_tokens;
      check_tokens(life, choice);
    }
    EXPECT_EQ(sink.end->usage.completion_tokens, completion);
  }

  // Greedy tokens from the prompt alone; an ended choice ended for a reason that the tokens show.
  void check_tokens(const Life& life, const RecordingSink::Choice& choice) const {
    std::vector<int32_t> tokens = life.request.prompt;
    for (int32_t token : choice.tokens) {
      std::vector<float> logits = testing::reference_logits(shape_, tokens);
      for (const LogitBias& bias : life.request.sampling.logit_bias)
        logits[static_cast<size_t>(bias.token)] += bias.bias;
      const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
      ASSERT_EQ(token, best) << "request " << life.id << " output " << tokens.size() - life.request.prompt.size();
      tokens.push_back(token);
    }
    const int count = choice.end->completion_tokens;
    switch (choice.end->reason) {
      case FinishReason::kLength:
        EXPECT_EQ(count, *life.request.max_tokens);
        break;
      case FinishReason::kStop:
        EXPECT_TRUE(choice.end->stop_string || choice.end->stop_token == testing::kEndToken);
        break;
      case FinishReason::kAbort:
        EXPECT_TRUE(life.aborted);
        break;
      case FinishReason::kError:
        ADD_FAILURE();
        break;
    }
    for (const std::string& stop : life.request.stop) EXPECT_EQ(choice.text.find(stop), std::string::npos);
  }

  Rng rng_;
  HashModelShape shape_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  std::unique_ptr<Rig> rig_;
  int max_n_ = 1;
  std::vector<Life> lives_;
};

TEST(Scheduler, RandomHistoriesLoseNothingAndChangeNoToken) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    History history(seed);
    history.run();
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace brio::engine
