#include "bench/model_run.h"

#include <algorithm>

#include "base/rng.h"
#include "engine/engine.h"
#include "kv/kv_sizing.h"

namespace brio::bench {
namespace {

// Every sequence begins with a token at least.
int prompt_tokens(const RunPlan& plan) {
  return plan.phase == Phase::kPrefill ? plan.context + plan.tokens : std::max(plan.context, 1);
}

// Tokens that a sequence may be asked for: those of the measured steps, the first, which ends its prompt, and as many
// as are decoded while others still compute theirs.
int answer_tokens(const RunPlan& plan, const model::Limits& limits) {
  if (plan.phase == Phase::kPrefill) return 1;
  return plan.tokens + 2 + plan.batch * prompt_tokens(plan) / limits.max_rows + plan.batch;
}

class Sink final : public engine::EventSink {
 public:
  void on_token(const engine::TokenEvent&) override {}
  void on_choice_end(const engine::ChoiceEnd&) override {}
  void on_end(const engine::RequestEnd& event) override {
    if (event.error) failure = event.error;
  }
  std::optional<Error> failure;
};

engine::EngineOptions engine_options(const RunPlan& plan, const model::Model& model) {
  engine::EngineOptions options;
  // The scheduler keeps a block free for each running sequence before it admits another: two blocks more for each, and,
  // since a window's blocks do not grow with the context, room for some sequences more.
  options.max_context = prompt_tokens(plan) + answer_tokens(plan, model.limits()) + 2 * tensor::kBlockTokens;
  options.max_sequences = sequence_room(plan.batch);
  options.max_waiting = plan.batch;
  options.entropy = plan.seed;
  // All sequences advance together, so that they reach the end of their context in the same step.
  options.chunking.kind = engine::Chunking::Kind::kFixed;
  options.chunking.size = std::max(1, model.limits().max_rows / plan.batch);
  return options;
}

bool is_measured(const RunPlan& plan, const engine::Plan& step) {
  if (plan.phase == Phase::kDecode) return step.num_decodes == plan.batch;
  return step.chunks.front().end > plan.context;  // its first such step may begin in the context, which is not computed
}

}  // namespace

int sequence_room(int batch) {
  return batch + 1 + batch / 16;
}

int64_t kv_bytes_needed(const RunPlan& plan, model::Model& model) {
  const engine::EngineOptions options = engine_options(plan, model);
  const std::vector<tensor::KvSpec> specs = model.kv_specs();
  return options.max_sequences *
         kv::sequence_bytes(kv::group_layers(specs), options.max_context, model.limits().max_rows);
}

Result<RunResult> run_once(const RunPlan& plan, ModelUnderTest& tested, Timing timing) {
  model::Model& model = *tested.model;
  const std::vector<tensor::KvSpec> specs = model.kv_specs();
  RunResult result;
  bool measured = false;  // the step that has just run
  engine::EngineOptions options = engine_options(plan, model);
  options.on_step = [&](const engine::Plan& step, const engine::StepLogits&, const kv::KvCache&) {
    measured = is_measured(plan, step);
    if (!measured) return;
    ++result.steps;
    result.logits_rows += step.num_logits;
    for (const engine::Chunk& chunk : step.chunks) {
      result.rows += chunk.end - std::max(chunk.begin, plan.context);
      result.kv_bytes += kv_bytes_read(specs, chunk.end);
    }
  };
  BRIO_TRY(const std::unique_ptr<engine::Engine> engine, engine::Engine::create(model, nullptr, std::move(options)));
  const auto sink = std::make_shared<Sink>();
  Rng rng(plan.seed);
  for (int s = 0; s < plan.batch; ++s) {
    engine::GenerateRequest request;
    request.prompt.resize(static_cast<size_t>(prompt_tokens(plan)));
    for (int32_t& token : request.prompt) {
      token = static_cast<int32_t>(rng.below(static_cast<uint32_t>(model.config().vocab)));
    }
    request.sampling.temperature = 0.0F;
    request.max_tokens = answer_tokens(plan, model.limits());
    request.ignore_eos = true;
    BRIO_TRY_OK(engine->submit(std::move(request), sink));
  }
  tested.model->fill_below(plan.phase == Phase::kPrefill ? plan.context : prompt_tokens(plan));
  if (timing == Timing::kOn) tested.ops->start();
  const int wanted = plan.phase == Phase::kDecode ? plan.tokens : INT32_MAX;
  bool goes_on = true;
  while (goes_on && result.steps < wanted && !sink->failure) {
    measured = false;
    const TimePoint start = Clock::steady().now();
    goes_on = engine->step();
    if (measured) {
      result.time += Clock::steady().now() - start;
    } else if (timing == Timing::kOn && result.steps == 0) {
      tested.ops->start();  // forgets what came before
    }
  }
  tested.ops->stop();
  tested.model->fill_below(0);
  if (sink->failure) return *sink->failure;
  if (result.steps == 0) {
    return error(ErrorCode::kInternal, "{} of {} at {}: the scheduler never ran all of it together", name(plan.phase),
                 plan.batch, plan.context);
  }
  return result;
}

}  // namespace brio::bench
