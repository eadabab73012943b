#include "cli/answer.h"

#include <fmt/format.h>

#include <atomic>
#include <csignal>

#include "cli/terminal.h"
#include "server/capacity.h"
#include "server/chat_prompt.h"

namespace brio::cli {
namespace {

std::atomic<bool> interrupted{false};

extern "C" void on_interrupt(int) {
  interrupted.store(true);
}

// Routes SIGINT to `interrupted` while an answer runs.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted.store(false);
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, &previous_);
  }
  ~InterruptGuard() { sigaction(SIGINT, &previous_, nullptr); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction previous_ {};
};

class AnswerSink final : public engine::EventSink {
 public:
  explicit AnswerSink(const std::function<void(const std::string&)>& on_text) : on_text_(on_text) {}

  void on_token(const engine::TokenEvent& event) override {
    answer.tokens.push_back(event.token);
    take(event.text);
  }
  void on_choice_end(const engine::ChoiceEnd& event) override { take(event.text); }
  void on_end(const engine::RequestEnd& event) override {
    answer.reason = event.reason;
    answer.usage = event.usage;
    answer.seed = event.seed;
    answer.ttft_ms = to_ms(event.timeline.time_to_first_token());
    answer.tpot_ms = to_ms(event.timeline.time_per_output_token());
    answer.total_ms = to_ms(event.timeline.end_to_end());
    for (const auto& chunk : event.timeline.chunks) answer.prefill_ms += to_ms(chunk.end - chunk.begin);
    failure = event.error;
    ended = true;
  }

  Answer answer;
  std::optional<Error> failure;
  bool ended = false;

 private:
  void take(const std::string& text) {
    if (text.empty()) return;
    answer.text += text;
    on_text_(text);
  }
  const std::function<void(const std::string&)>& on_text_;
};

}  // namespace

Result<tensor::Numerics> parse_numerics(const std::string& text) {
  if (text == "default") return tensor::Numerics::kDefault;
  if (text == "fp32") return tensor::Numerics::kFp32;
  return error(ErrorCode::kInvalidArgument, "--numerics {}: not one of default, fp32", text);
}

Result<Runner> load_runner(const RunnerOptions& options) {
  server::LoadOptions load;
  BRIO_TRY(load.numerics, parse_numerics(options.numerics));
  load.num_threads = options.threads;
  load.limits.max_logits = 1;
  ProgressLine progress("loading " + options.model);
  load.progress = [&](double done) { progress.fraction(done); };
  Runner runner;
  BRIO_TRY(runner.loaded, server::load_model(options.model, load));
  progress.finish();
  BRIO_TRY(const server::Capacity capacity,
           server::choose_capacity(*runner.loaded.model, {options.context, 0, 1}, memory_limit_bytes()));
  engine::EngineOptions engine;
  engine.max_context = capacity.context;
  engine.kv_bytes = capacity.kv_bytes;
  engine.max_sequences = 1;
  if (options.log_steps) {
    engine.step_log = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  }
  BRIO_TRY(runner.engine, engine::Engine::create(*runner.loaded.model, runner.loaded.tokenizer.get(), engine));
  return runner;
}

Result<Answer> generate(engine::Engine& engine, engine::GenerateRequest request,
                        const std::function<void(const std::string&)>& on_text) {
  const InterruptGuard guard;
  auto sink = std::make_shared<AnswerSink>(on_text);
  BRIO_TRY(const engine::RequestId id, engine.submit(std::move(request), sink));
  while (!sink->ended) {
    if (interrupted.exchange(false)) engine.abort(id);
    engine.step();
  }
  if (sink->failure) return *sink->failure;
  return std::move(sink->answer);
}

Result<std::vector<int32_t>> render_turns(const server::LoadedModel& loaded, const std::vector<Turn>& turns) {
  api::ChatRequest request;
  for (const Turn& turn : turns) {
    api::Message& message = request.messages.emplace_back();
    message.role = turn.role;
    message.content = turn.content;
  }
  return server::chat_prompt(loaded, request);
}

std::string timing_line(const Answer& answer) {
  std::string line = fmt::format("{} prompt tokens · {} generated · TTFT {:.1f} ms", answer.usage.prompt_tokens,
                                 answer.usage.completion_tokens, answer.ttft_ms);
  if (answer.tpot_ms > 0) {
    line += fmt::format(" · TPOT {:.1f} ms · {:.1f} tokens/s", answer.tpot_ms, 1000.0 / answer.tpot_ms);
  }
  return line;
}

}  // namespace brio::cli
