// Requests from submission to their last event, on a model whose output depends on every byte of its KV cache.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/sampler.h"
#include "engine/testing/rig.h"

namespace brio::engine {
namespace {

using testing::greedy_request;
using testing::HashModel;
using testing::HashModelShape;
using testing::random_prompt;
using testing::RecordingSink;
using testing::Rig;

// Chunkings, neighbours and shortage of blocks do not show in the tokens.
TEST(Engine, GreedyOutputIsThatOfTheTokensAlone) {
  const Chunking chunkings[] = {{Chunking::Kind::kBudget, 0, 0},  {Chunking::Kind::kFixed, 1, 0},
                                {Chunking::Kind::kFixed, 7, 0},   {Chunking::Kind::kFixed, 32, 0},
                                {Chunking::Kind::kRandom, 40, 3}, {Chunking::Kind::kRandom, 90, 4}};
  int64_t preemptions = 0;
  for (const Chunking& chunking : chunkings) {
    for (int blocks : {9, 12, 200}) {
      EngineOptions options;
      options.chunking = chunking;
      options.kv_blocks = blocks;
      options.max_sequences = 6;
      Rig rig(options);
      Rng rng(static_cast<uint64_t>(blocks));
      std::vector<std::shared_ptr<RecordingSink>> sinks;
      std::vector<std::vector<int32_t>> expected;
      for (int i = 0; i < 12; ++i) {
        const std::vector<int32_t> prompt = random_prompt(rng, 1 + static_cast<int>(rng.below(120)));
        const int count = 1 + static_cast<int>(rng.below(100));
        sinks.push_back(rig.submit(greedy_request(prompt, count)));
        expected.push_back(rig.greedy(prompt, count));
        for (uint32_t s = rng.below(4); s > 0; --s) rig.step();
      }
      rig.run();
      for (size_t i = 0; i < sinks.size(); ++i) {
        ASSERT_TRUE(sinks[i]->end.has_value()) << i;
        EXPECT_EQ(sinks[i]->choices[0].tokens, expected[i]) << "request " << i << ", " << blocks << " blocks";
        EXPECT_EQ(sinks[i]->end->reason, FinishReason::kLength);
        EXPECT_EQ(sinks[i]->end->usage.completion_tokens, static_cast<int>(expected[i].size()));
      }
      if (blocks == 200) {
        EXPECT_EQ(rig.engine->stats().preemptions, 0);
      }
      preemptions += rig.engine->stats().preemptions;
    }
  }
  EXPECT_GT(preemptions, 20);  // the small pools did what they are here for
}

// What a seeded request draws, choice by choice, from the tokens alone.
std::vector<int32_t> reference_sampled(const HashModelShape& shape, const GenerateRequest& request, int choice,
                                       int count) {
  std::vector<int32_t> tokens = request.prompt;
  Sampler sampler;
  TokenCounts counts;
  for (int32_t token : tokens) counts.add_prompt(token);
  std::vector<int32_t> output;
  for (int i = 0; i < count; ++i) {
    const NoiseKey noise{*request.sampling.seed, static_cast<uint32_t>(choice), static_cast<uint32_t>(tokens.size()),
                         0};
    const Result<Draw> draw =
        sampler.draw(testing::reference_logits(shape, tokens), {&request.sampling, &counts, {}, noise});
    output.push_back(draw->token);
    counts.add_output(draw->token);
    tokens.push_back(draw->token);
  }
  return output;
}

TEST(Engine, ChoicesShareThePromptAndDrawTheirOwnTokens) {
  for (int blocks : {8, 14, 100}) {
    for (int length : {1, 31, 32, 33, 50}) {
      EngineOptions options;
      options.kv_blocks = blocks;
      Rig rig(options);
      Rng rng(static_cast<uint64_t>(length));
      GenerateRequest request = greedy_request(random_prompt(rng, length), 60);
      request.sampling.temperature = 0.8F;
      request.sampling.top_p = 0.9F;
      request.sampling.frequency_penalty = 0.3F;
      request.sampling.seed = 7;
      request.n = 5;
      const auto sink = rig.submit(request);
      const auto neighbour = rig.submit(greedy_request(random_prompt(rng, 40), 30));
      rig.run();
      ASSERT_TRUE(sink->end.has_value() && neighbour->end.has_value());
      ASSERT_EQ(sink->choices.size(), 5U);
      for (auto& [index, choice] : sink->choices) {
        EXPECT_EQ(choice.tokens, reference_sampled(rig.shape, request, index, 60)) << index << " of " << length;
      }
      EXPECT_NE(sink->choices[0].tokens, sink->choices[1].tokens);
      EXPECT_EQ(sink->end->usage.prompt_tokens, length);
      EXPECT_EQ(sink->end->usage.completion_tokens, 300);
      if (blocks == 100) {
        EXPECT_EQ(rig.engine->stats().prompt_tokens, length + 40);  // the prompt was computed once
      }
    }
  }
}

TEST(Engine, SeedsAreReportedAndRepeatTheAnswer) {
  Rig rig;
  GenerateRequest request = greedy_request({1, 2, 3}, 20);
  request.sampling.temperature = 1.0F;
  const auto first = rig.submit(request);
  const auto second = rig.submit(request);
  rig.run();
  EXPECT_NE(first->choices[0].tokens, second->choices[0].tokens);
  request.sampling.seed = first->end->seed;
  const auto repeated = rig.submit(request);
  rig.run();
  EXPECT_EQ(first->choices[0].tokens, repeated->choices[0].tokens);
}

TEST(Engine, AbortEndsARequestAtEveryStageWithinOneStep) {
  for (int stage = 0; stage < 40; ++stage) {
    EngineOptions options;
    options.kv_blocks = 6;
    options.max_sequences = 3;
    options.chunking = {Chunking::Kind::kFixed, 9, 0};
    Rig rig(options);
    Rng rng(1);
    const auto older = rig.submit(greedy_request(random_prompt(rng, 40), 30));
    GenerateRequest request = greedy_request(random_prompt(rng, 50), 60);
    request.n = 2;
    const auto sink = rig.submit(request);
    const RequestId id = rig.id;
    const auto younger = rig.submit(greedy_request(random_prompt(rng, 20), 10));
    for (int i = 0; i < stage; ++i) rig.step();
    rig.engine->abort(id);
    rig.engine->abort(id);
    rig.step();
    ASSERT_TRUE(sink->end.has_value()) << "stage " << stage;
    EXPECT_EQ(sink->end->reason, FinishReason::kAbort);
    ASSERT_EQ(sink->choices.size(), 2U);
    EXPECT_EQ(sink->choices[1].end->reason, FinishReason::kAbort);
    rig.run();
    EXPECT_EQ(older->end->reason, FinishReason::kLength);
    EXPECT_EQ(younger->end->reason, FinishReason::kLength);
    EXPECT_EQ(rig.engine->stats().finished[static_cast<int>(FinishReason::kAbort)], 1);
  }
}

TEST(Engine, LateAndUnknownAbortsAreHarmless) {
  Rig rig;
  const auto sink = rig.submit(greedy_request({1}, 2));
  const RequestId id = rig.id;
  rig.run();
  rig.engine->abort(id);
  rig.engine->abort(9999);
  rig.run();
  EXPECT_EQ(sink->end->reason, FinishReason::kLength);
  rig.engine->abort(id + 1);  // not given yet: the next request is not meant
  const auto next = rig.submit(greedy_request({1}, 2));
  rig.run();
  EXPECT_EQ(next->end->reason, FinishReason::kLength);
}

TEST(Engine, NanLogitsFailTheirRequestAlone) {
  HashModelShape shape;
  shape.nan_token = 63;
  Rig rig({}, shape);
  GenerateRequest bad = greedy_request({1, 63, 2}, 5);
  bad.n = 2;
  const auto failed = rig.submit(bad);
  const auto fine = rig.submit(greedy_request({1, 2, 3}, 1));
  rig.run();
  ASSERT_TRUE(failed->end.has_value());
  EXPECT_EQ(failed->end->reason, FinishReason::kError);
  EXPECT_EQ(failed->end->error->code, ErrorCode::kNumeric);
  EXPECT_EQ(failed->choices.size(), 2U);
  EXPECT_EQ(fine->choices[0].tokens, rig.greedy({1, 2, 3}, 1));
}

TEST(Engine, PromptsThatCannotFitAreRefusedAtSubmission) {
  EngineOptions options;
  options.kv_blocks = 4;
  Rig rig(options);  // 128 tokens
  EXPECT_EQ(rig.engine->max_context(), 128);
  Rng rng(1);
  const auto refusal = [&](int prompt, std::optional<int> max_tokens) {
    GenerateRequest request = greedy_request(random_prompt(rng, prompt), 0);
    request.max_tokens = max_tokens;
    const auto id = rig.engine->submit(std::move(request), std::make_shared<RecordingSink>());
    return id.ok() ? std::string("accepted") : std::string(name(id.error().code));
  };
  EXPECT_EQ(refusal(128, std::nullopt), "context_length_exceeded");
  EXPECT_EQ(refusal(100, 29), "context_length_exceeded");
  EXPECT_EQ(refusal(100, 28), "accepted");
  EXPECT_EQ(refusal(127, std::nullopt), "accepted");
  EXPECT_EQ(refusal(128, 0), "accepted");
  rig.run();
}

TEST(Engine, AbsentMaxTokensRunsToTheEndOfTheContext) {
  EngineOptions options;
  options.max_context = 100;
  Rig rig(options);
  GenerateRequest request = greedy_request({1, 2, 3, 4}, 0);
  request.max_tokens = std::nullopt;
  const auto sink = rig.submit(request);
  rig.run();
  EXPECT_EQ(sink->choices[0].tokens, rig.greedy({1, 2, 3, 4}, 96));
  EXPECT_EQ(sink->end->reason, FinishReason::kLength);
}

TEST(Engine, QueueLimitRefuses) {
  EngineOptions options;
  options.max_waiting = 3;
  Rig rig(options);
  for (int i = 0; i < 3; ++i) rig.submit(greedy_request({1, 2}, 3));
  const auto refused = rig.engine->submit(greedy_request({1, 2}, 3), std::make_shared<RecordingSink>());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  rig.step();  // now they run
  rig.submit(greedy_request({1, 2}, 3));
  rig.run();
}

TEST(Engine, WindowGroupsLetASequenceRunPastThePool) {
  EngineOptions options;
  options.kv_blocks = 6;
  HashModelShape shape;
  shape.windows = {40, 40};
  Rig rig(options, shape);
  const auto sink = rig.submit(greedy_request({1, 2, 3}, 1500));
  rig.run();
  EXPECT_EQ(sink->choices[0].tokens, rig.greedy({1, 2, 3}, 1500));
  EXPECT_EQ(rig.engine->stats().preemptions, 0);
}

TEST(Engine, StopTokenIdsEndAChoiceAndMinTokensBansThem) {
  Rig rig;
  const std::vector<int32_t> plain = rig.greedy({5, 6}, 40);
  const int32_t stop = plain[10];
  const size_t first = static_cast<size_t>(std::find(plain.begin(), plain.end(), stop) - plain.begin());
  GenerateRequest request = greedy_request({5, 6}, 40);
  request.stop_token_ids = {stop};
  const auto stopped = rig.submit(request);
  request.min_tokens = 30;
  const auto later = rig.submit(request);
  rig.run();
  EXPECT_EQ(stopped->choices[0].tokens, std::vector<int32_t>(plain.begin(), plain.begin() + static_cast<long>(first)));
  EXPECT_EQ(stopped->choices[0].end->stop_token, stop);
  EXPECT_EQ(stopped->end->reason, FinishReason::kStop);
  EXPECT_EQ(stopped->end->usage.completion_tokens, static_cast<int>(first) + 1);
  EXPECT_GE(later->choices[0].tokens.size(), 30U);
  EXPECT_EQ(std::count(later->choices[0].tokens.begin(), later->choices[0].tokens.end(), stop), 0);
}

// log softmax in long double.
float reference_logprob(const std::vector<float>& logits, int32_t token) {
  long double sum = 0.0L;
  for (float logit : logits) sum += std::exp(static_cast<long double>(logit));
  return static_cast<float>(static_cast<long double>(logits[static_cast<size_t>(token)]) - std::log(sum));
}

TEST(Engine, PromptLogprobsAreThoseOfEachPrefixWhateverTheChunks) {
  for (int chunk : {1, 5, 64}) {
    for (int length : {1, 2, 40}) {
      for (int max_tokens : {0, 3}) {
        EngineOptions options;
        options.chunking = {Chunking::Kind::kFixed, chunk, 0};
        Rig rig(options);
        Rng rng(5);
        const std::vector<int32_t> prompt = random_prompt(rng, length);
        GenerateRequest request = greedy_request(prompt, max_tokens);
        request.prompt_logprobs = 2;
        request.sampling.logprobs = 1;
        const auto sink = rig.submit(request);
        const auto neighbour = rig.submit(greedy_request(random_prompt(rng, 70), 8));
        rig.run();
        ASSERT_TRUE(sink->end.has_value() && sink->prompt.has_value());
        ASSERT_EQ(sink->prompt->logprobs.size(), prompt.size());
        EXPECT_FALSE(sink->prompt->logprobs[0].has_value());
        for (size_t p = 1; p < prompt.size(); ++p) {
          const auto logits = testing::reference_logits(rig.shape, std::span(prompt).first(p));
          const Logprobs& got = *sink->prompt->logprobs[p];
          EXPECT_EQ(got.chosen.token, prompt[p]);
          EXPECT_NEAR(got.chosen.logprob, reference_logprob(logits, prompt[p]), 1e-5F);
          EXPECT_EQ(got.top.size(), 2U);
        }
        EXPECT_EQ(sink->choices[0].tokens, rig.greedy(prompt, max_tokens));
        EXPECT_EQ(sink->end->reason, FinishReason::kLength);
      }
    }
  }
}

TEST(Engine, TimelineFollowsTheClock) {
  EngineOptions options;
  options.chunking = {Chunking::Kind::kFixed, 10, 0};
  Rig rig(options);
  Rng rng(5);
  GenerateRequest request = greedy_request(random_prompt(rng, 25), 4);
  request.arrival = rig.clock.now() - std::chrono::milliseconds(2);
  const auto sink = rig.submit(request);
  rig.run();
  const telemetry::Timeline& timeline = sink->end->timeline;
  EXPECT_EQ(timeline.queue(), std::chrono::milliseconds(3));
  ASSERT_EQ(timeline.chunks.size(), 3U);
  EXPECT_EQ(timeline.chunks[2].tokens, 5);
  EXPECT_EQ(timeline.time_to_first_token(), std::chrono::milliseconds(5));
  EXPECT_EQ(timeline.time_per_output_token(), std::chrono::milliseconds(1));
}

TEST(Engine, OptionsThatContradictTheModelAreRefused) {
  HashModel model({}, {64, 16});
  const auto refusal = [&](auto change) {
    EngineOptions options;
    options.max_sequences = 16;
    change(options);
    const auto engine = Engine::create(model, nullptr, options);
    return engine.ok() ? std::string("accepted") : engine.error().message;
  };
  EXPECT_EQ(refusal([](EngineOptions&) {}), "accepted");
  EXPECT_NE(refusal([](EngineOptions& o) { o.max_sequences = 17; }).find("max_sequences is 17"), std::string::npos);
  EXPECT_NE(refusal([](EngineOptions& o) { o.kv_bytes = 1000; }).find("1000 bytes"), std::string::npos);
  EXPECT_NE(refusal([](EngineOptions& o) {
              o.batching = {BatchingMode::kStatic, 40, {}};
            }).find("batch of 40"),
            std::string::npos);
}

}  // namespace
}  // namespace brio::engine
