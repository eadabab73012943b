#include "cli/answer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "server/capacity.h"
#include "server/chat_prompt.h"

namespace brio::cli {
namespace {

class AnswerSink final : public engine::EventSink {
 public:
  AnswerSink(const std::function<bool(const std::string&)>& on_text, ProgressLine& prompt)
      : on_text_(on_text), prompt_(prompt) {}

  void on_token(const engine::TokenEvent& event) override {
    prompt_.finish();
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
  bool unread = false;  // the text has no reader any more

 private:
  void take(const std::string& text) {
    if (text.empty()) return;
    answer.text += text;
    if (!unread) unread = !on_text_(text);
  }
  const std::function<bool(const std::string&)>& on_text_;
  ProgressLine& prompt_;
};

}  // namespace

Result<tensor::Numerics> parse_numerics(const std::string& text) {
  if (text == "default") return tensor::Numerics::kDefault;
  if (text == "fp32") return tensor::Numerics::kFp32;
  return error(ErrorCode::kInvalidArgument, "--numerics {}: not one of default, fp32", text);
}

void add_kv_type_flag(CLI::App& command, std::string& kv_type) {
  command
      .add_option(
          "--kv-type", kv_type,
          "bf16, int8: keys and values in 8 bits, half the memory, faster with long contexts, slightly less exact; "
          "f32 (default: bf16, or f32 with --numerics fp32)")
      ->check(CLI::IsMember({"bf16", "int8", "f32"}));
}

Result<std::optional<tensor::KvType>> parse_kv_type(const std::string& text) {
  using tensor::KvType;
  if (text == "default") return std::optional<KvType>();
  for (const KvType type : {KvType::kBF16, KvType::kInt8, KvType::kF32}) {
    if (text == tensor::name(type)) return std::optional<KvType>(type);
  }
  return error(ErrorCode::kInvalidArgument, "--kv-type {}: not one of bf16, int8, f32", text);
}

void print_step(const engine::Plan& plan, const engine::StepLogits& /*logits*/, const kv::KvCache& /*kv*/) {
  say(engine::format(plan) + "\n");
}

Result<Runner> load_runner(const RunnerOptions& options) {
  server::LoadOptions load;
  BRIO_TRY(load.numerics, parse_numerics(options.numerics));
  BRIO_TRY(load.kv_type, parse_kv_type(options.kv_type));
  load.num_threads = options.threads;
  load.limits.max_logits = 1;
  set_packed_cache(options.packed_cache, load);
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
  if (options.log_steps) engine.on_step = print_step;
  BRIO_TRY(runner.engine, engine::Engine::create(*runner.loaded.model, runner.loaded.tokenizer.get(), engine));
  return runner;
}

Result<Answer> generate(Runner& runner, engine::GenerateRequest request,
                        const std::function<bool(const std::string&)>& on_text) {
  const InterruptGuard guard;
  engine::Engine& engine = *runner.engine;
  ProgressLine progress("reading the prompt");
  const auto prompt_tokens = static_cast<double>(request.prompt.size());
  const int rows = runner.loaded.model->limits().max_rows;
  constexpr double kLongPrompt = 256;
  if (prompt_tokens >= kLongPrompt) progress.at_once();
  auto sink = std::make_shared<AnswerSink>(on_text, progress);
  BRIO_TRY(const engine::RequestId id, engine.submit(std::move(request), sink));
  for (int steps = 0; !sink->ended; ++steps) {
    if (sink->answer.tokens.empty())
      progress.fraction(std::min(1.0, static_cast<double>(steps) * rows / prompt_tokens));
    if (InterruptGuard::take() || sink->unread) engine.abort(id);
    engine.step();
  }
  progress.finish();
  if (sink->failure) return *sink->failure;
  if (sink->unread) return error(ErrorCode::kIo, "standard output: cannot write");
  return std::move(sink->answer);
}

bool print_now(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

void add_threads_flag(CLI::App& command, int& threads) {
  constexpr int kMostThreads = 1024;
  command.add_option("--threads", threads, "Compute threads (default, and 0: the cores this process may use)")
      ->check(CLI::Range(0, kMostThreads));
}

void add_packed_cache_flag(CLI::App& command, std::string& packed_cache) {
  command.add_option("--packed-cache", packed_cache,
                     "Folder where packed weights are kept, so that the next start maps them; off: pack every time "
                     "(default: packed in $BRIO_HOME or ~/.cache/brio, for models from 32 MB on)");
}

void set_packed_cache(const std::string& packed_cache, server::LoadOptions& load) {
  if (packed_cache.empty()) {
    load.packed = server::default_packed_folder();
  } else if (packed_cache != "off") {
    load.packed.path = packed_cache;
  }
  load.note = [](const std::string& line) { say(dim(printable(line), STDERR_FILENO) + "\n"); };
}

void finish_keeping(const weights::PackedWriter* writer) {
  if (writer == nullptr) return;
  const InterruptGuard guard;
  ProgressLine progress("keeping the packed weights for the next start");
  while (!writer->done() && !InterruptGuard::interrupted()) {
    progress.fraction(writer->fraction());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Result<void> check_context(const server::LoadedModel& loaded, int64_t num_tokens) {
  const int context = loaded.model->config().context;
  if (num_tokens <= context) return {};
  return error(ErrorCode::kContextLengthExceeded, "{} tokens, the model was trained for {}", num_tokens, context);
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
  std::string line =
      fmt::format("{} prompt tokens · {} generated", answer.usage.prompt_tokens, answer.usage.completion_tokens);
  if (answer.usage.completion_tokens > 0) line += fmt::format(" · TTFT {:.1f} ms", answer.ttft_ms);
  if (answer.tpot_ms > 0) {
    line += fmt::format(" · TPOT {:.1f} ms · {:.1f} tokens/s", answer.tpot_ms, 1000.0 / answer.tpot_ms);
  }
  return line;
}

}  // namespace brio::cli
