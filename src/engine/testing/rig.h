// Rig: an engine on a HashModel with a virtual clock, stepped by the test, KV blocks poisoned and invariants checked
// after every step. For tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "engine/testing/hash_model.h"
#include "engine/testing/recording_sink.h"

namespace brio::engine::testing {

class Rig {
 public:
  explicit Rig(EngineOptions options = {}, const HashModelShape& shape = {}, model::Limits limits = {64, 16},
               const tokenizer::Tokenizer* tokenizer = nullptr)
      : shape(shape), model(shape, limits) {
    options.poison_freed_blocks = true;
    options.check_invariants = true;
    options.entropy = 1;
    options.max_sequences = std::min(options.max_sequences, limits.max_logits);
    options.on_step = [this](const Plan& plan, const StepLogits&, const kv::KvCache&) { log.push_back(format(plan)); };
    clock.advance(std::chrono::seconds(1));
    auto created = Engine::create(model, tokenizer, std::move(options), nullptr, clock);
    EXPECT_TRUE(created.ok()) << created.error().message;
    engine = std::move(created).value();
  }

  std::shared_ptr<RecordingSink> submit(GenerateRequest request) {
    auto sink = std::make_shared<RecordingSink>();
    const Result<RequestId> accepted = engine->submit(std::move(request), sink);
    EXPECT_TRUE(accepted.ok()) << accepted.error().message;
    id = accepted.ok() ? *accepted : 0;
    return sink;
  }
  bool step() {  // a millisecond passes first
    clock.advance(std::chrono::milliseconds(1));
    return engine->step();
  }
  void run() {
    for (int i = 0; i < 100000 && step(); ++i) continue;
    EXPECT_EQ(engine->stats().kv_used_blocks, 0) << "blocks leaked";
    EXPECT_EQ(engine->stats().running, 0);
  }
  std::vector<int32_t> greedy(std::vector<int32_t> prompt, int count) const {
    return reference_greedy(shape, std::move(prompt), count);
  }

  HashModelShape shape;
  HashModel model;
  VirtualClock clock;
  std::vector<std::string> log;
  std::unique_ptr<Engine> engine;
  RequestId id = 0;
};

inline std::vector<int32_t> random_prompt(Rng& rng, int length, int vocab = 64) {
  std::vector<int32_t> prompt(static_cast<size_t>(length));
  for (int32_t& token : prompt) token = static_cast<int32_t>(rng.below(static_cast<uint32_t>(vocab)));
  return prompt;
}

inline GenerateRequest greedy_request(std::vector<int32_t> prompt, int max_tokens) {
  GenerateRequest request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0.0F;
  request.max_tokens = max_tokens;
  return request;
}

}  // namespace brio::engine::testing
