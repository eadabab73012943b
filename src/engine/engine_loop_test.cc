// The engine's own thread: submissions and aborts from many threads, drain, stop. Run under TSan as well.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"
#include "engine/testing/hash_model.h"
#include "engine/testing/recording_sink.h"
#include "engine/testing/rig.h"

namespace brio::engine {
namespace {

using testing::greedy_request;
using testing::HashModel;
using testing::HashModelShape;
using testing::random_prompt;
using testing::RecordingSink;
using testing::reference_greedy;

std::unique_ptr<Engine> make_engine(HashModel& model, EngineOptions options = {}) {
  options.max_sequences = 8;
  options.check_invariants = true;
  auto engine = Engine::create(model, nullptr, std::move(options));
  EXPECT_TRUE(engine.ok()) << engine.error().message;
  return std::move(engine).value();
}

struct Client {
  std::vector<GenerateRequest> requests;
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  std::vector<bool> aborted;
};

TEST(EngineLoop, ManyThreadsSubmitAndAbort) {
  const HashModelShape shape;
  HashModel model(shape, {64, 16});
  EngineOptions options;
  options.kv_blocks = 16;
  const auto engine = make_engine(model, options);
  engine->start();
  std::vector<Client> clients(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < clients.size(); ++t) {
    threads.emplace_back([&, t] {
      Rng rng(t);
      for (int i = 0; i < 12; ++i) {
        Client& client = clients[t];
        client.requests.push_back(greedy_request(random_prompt(rng, 1 + static_cast<int>(rng.below(60))),
                                                 1 + static_cast<int>(rng.below(40))));
        client.sinks.push_back(std::make_shared<RecordingSink>());
        const Result<RequestId> id = engine->submit(client.requests.back(), client.sinks.back());
        ASSERT_TRUE(id.ok());
        client.aborted.push_back(rng.below(4) == 0);
        if (client.aborted.back()) engine->abort(*id);
        engine->stats();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(engine->drain());
  for (Client& client : clients) {
    for (size_t i = 0; i < client.sinks.size(); ++i) {
      RecordingSink& sink = *client.sinks[i];
      ASSERT_TRUE(sink.end.has_value());
      if (client.aborted[i]) continue;
      EXPECT_EQ(sink.choices[0].tokens,
                reference_greedy(shape, client.requests[i].prompt, *client.requests[i].max_tokens));
    }
  }
  EXPECT_EQ(engine->stats().kv_used_blocks, 0);
  const auto late = engine->submit(greedy_request({1}, 1), std::make_shared<RecordingSink>());
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
}

TEST(EngineLoop, StopEndsEverything) {
  HashModel model({}, {64, 16});
  const auto engine = make_engine(model);
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  const auto submit = [&] {
    sinks.push_back(std::make_shared<RecordingSink>());
    EXPECT_TRUE(engine->submit(greedy_request({1, 2, 3}, 3000), sinks.back()).ok());
  };
  for (int i = 0; i < 10; ++i) submit();
  engine->start();
  for (int i = 0; i < 10; ++i) submit();
  engine->stop();
  for (const auto& sink : sinks) {
    ASSERT_TRUE(sink->end.has_value());
    EXPECT_EQ(sink->end->reason, FinishReason::kAbort);
  }
  EXPECT_FALSE(engine->submit(greedy_request({1}, 1), sinks[0]).ok());
}

TEST(EngineLoop, DrainGivesUpWhenPatienceEnds) {
  HashModel model({}, {64, 16});
  const auto engine = make_engine(model);
  const auto sink = std::make_shared<RecordingSink>();
  ASSERT_TRUE(engine->submit(greedy_request({1, 2, 3}, 4000), sink).ok());
  engine->start();
  EXPECT_FALSE(engine->drain(std::chrono::milliseconds(1)));
  engine->stop();
  EXPECT_EQ(sink->end->reason, FinishReason::kAbort);
}

// Alone in a batch of eight: nothing but its deadline can wake the loop.
TEST(EngineLoop, TheDeadlineOfADynamicBatchWakesTheLoop) {
  HashModel model({}, {64, 16});
  EngineOptions options;
  options.batching = {BatchingMode::kDynamic, 8, std::chrono::milliseconds(3)};
  const auto engine = make_engine(model, options);
  engine->start();
  class Flag final : public EventSink {
   public:
    void on_token(const TokenEvent&) override {}
    void on_choice_end(const ChoiceEnd&) override {}
    void on_end(const RequestEnd&) override {
      ended = true;
      ended.notify_all();
    }
    std::atomic<bool> ended = false;
  };
  const auto flag = std::make_shared<Flag>();
  ASSERT_TRUE(engine->submit(greedy_request({1, 2, 3}, 4), flag).ok());
  flag->ended.wait(false);
  EXPECT_TRUE(engine->drain());  // the step's numbers are in
  EXPECT_EQ(engine->stats().steps, 4);
}

// A sink may submit and abort from inside an event.
TEST(EngineLoop, SinksMaySubmitAndAbort) {
  HashModel model({}, {64, 16});
  const auto engine = make_engine(model);
  class Chain final : public EventSink {
   public:
    explicit Chain(Engine& engine) : engine_(engine) {}
    void on_token(const TokenEvent& event) override {
      if (++tokens == 3) engine_.abort(event.request);
    }
    void on_choice_end(const ChoiceEnd&) override {}
    void on_end(const RequestEnd& end) override {
      reason = end.reason;
      EXPECT_TRUE(engine_.submit(greedy_request({1, 2, 3}, 2), next).ok());
    }
    int tokens = 0;
    FinishReason reason = FinishReason::kStop;
    std::shared_ptr<RecordingSink> next = std::make_shared<RecordingSink>();

   private:
    Engine& engine_;
  };
  const auto chain = std::make_shared<Chain>(*engine);
  ASSERT_TRUE(engine->submit(greedy_request({1, 2, 3}, 2000), chain).ok());
  while (engine->step()) continue;
  EXPECT_EQ(chain->tokens, 3);
  EXPECT_EQ(chain->reason, FinishReason::kAbort);
  EXPECT_TRUE(chain->next->end.has_value());
}

}  // namespace
}  // namespace brio::engine
