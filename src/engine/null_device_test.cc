// The device seam: real architectures run through the whole engine on a device without memory or arithmetic. Its logits
// are a function of a row's token and position, so every chain of greedy tokens is known.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/testing/recording_sink.h"
#include "engine/testing/rig.h"
#include "model/model.h"

namespace brio::engine {
namespace {

using testing::greedy_request;
using testing::random_prompt;
using testing::RecordingSink;

model::Config config_of(const std::string& architecture) {
  model::Config config;
  config.architecture = architecture;
  config.num_layers = 6;
  config.hidden = 96;
  config.feed_forward = 128;
  config.num_heads = 6;
  config.num_kv_heads = 2;
  config.head_dim = 16;
  config.vocab = 300;
  config.context = 100000;
  config.norm_epsilon = 1e-5F;
  config.attention_scale = 0.25F;
  config.rope.rotary_dim = config.local_rope.rotary_dim = 16;
  config.windows = std::vector<int>(6, 0);
  if (architecture == "gemma3") config.windows = {64, 64, 64, 64, 64, 0};
  return config;
}

std::unique_ptr<Engine> make_engine(model::Model& model, int max_sequences, int blocks) {
  EngineOptions options;
  options.max_sequences = max_sequences;
  options.kv_blocks = blocks;
  options.check_invariants = true;
  auto engine = Engine::create(model, nullptr, options);
  EXPECT_TRUE(engine.ok()) << engine.error().message;
  return std::move(engine).value();
}

// One at a time, with blocks to spare, against all at once with so few that sequences are preempted.
TEST(NullDevice, EveryArchitectureGivesTheSameTokensAloneAndInACrowd) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "gemma3"}) {
    const std::unique_ptr<model::Model> model = model::build_null_model(config_of(architecture), {128, 32});
    ASSERT_NE(model, nullptr) << architecture;
    const auto alone = make_engine(*model, 1, 1000);
    const auto crowd = make_engine(*model, 32, 40);
    Rng rng(1);
    std::vector<std::shared_ptr<RecordingSink>> solo, together;
    for (int i = 0; i < 40; ++i) {
      const auto request = greedy_request(random_prompt(rng, 1 + static_cast<int>(rng.below(200)), 300),
                                          1 + static_cast<int>(rng.below(150)));
      solo.push_back(std::make_shared<RecordingSink>());
      together.push_back(std::make_shared<RecordingSink>());
      ASSERT_TRUE(alone->submit(request, solo.back()).ok());
      ASSERT_TRUE(crowd->submit(request, together.back()).ok());
    }
    EXPECT_TRUE(alone->drain());
    EXPECT_TRUE(crowd->drain());
    EXPECT_GT(crowd->stats().preemptions, 0);
    for (size_t i = 0; i < solo.size(); ++i) EXPECT_EQ(solo[i]->choices[0].tokens, together[i]->choices[0].tokens) << i;
  }
}

// A step reads every weight once, however many rows, sequences and chunks it has.
TEST(NullDevice, WeightsAreReadOncePerStepWhateverTheRows) {
  const std::unique_ptr<model::Model> model = model::build_null_model(config_of("llama"), {128, 32});
  ASSERT_NE(model, nullptr);
  const auto engine = make_engine(*model, 32, 1000);
  Rng rng(1);
  int64_t passes_of_a_step = 0;
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(engine
                    ->submit(greedy_request(random_prompt(rng, 1 + static_cast<int>(rng.below(90)), 300), 50),
                             std::make_shared<RecordingSink>())
                    .ok());
    const int64_t before = model->ops().weight_passes();
    engine->step();
    const int64_t passes = model->ops().weight_passes() - before;
    if (i == 0) passes_of_a_step = passes;
    EXPECT_GT(passes, 0);
    EXPECT_EQ(passes, passes_of_a_step) << "step " << i;
  }
  EXPECT_GT(engine->stats().rows, 60 * 30);
}

}  // namespace
}  // namespace brio::engine
