// Answer: one request run to its end on an engine that this thread steps, text printed as it comes. Ctrl-C stops the
// answer and not the program.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "server/loaded_model.h"

namespace CLI {
class App;
}

namespace brio::cli {

struct Answer {
  std::string text;
  std::vector<int32_t> tokens;
  engine::FinishReason reason = engine::FinishReason::kStop;
  engine::Usage usage;
  uint64_t seed = 0;
  double ttft_ms = 0.0;     // submission to first token
  double tpot_ms = 0.0;     // (last - first) / (n - 1)
  double prefill_ms = 0.0;  // sum over the prompt's chunks
  double total_ms = 0.0;
};

// The model with an engine for one sequence.
struct Runner {
  server::LoadedModel loaded;
  std::unique_ptr<engine::Engine> engine;
};

struct RunnerOptions {
  std::string model;
  std::string numerics = "default";
  std::string kv_type = "default";
  int threads = 0;
  int context = 0;           // 0: what the model was trained for, as far as memory goes
  bool log_steps = false;    // a line per step on standard error
  std::string packed_cache;  // as add_packed_cache_flag has it
};

Result<Runner> load_runner(const RunnerOptions& options);

void add_threads_flag(CLI::App& command, int& threads);

// --packed-cache DIR|off; empty: the default folder. The folder that this means, and what to say about it, go to `load`.
void add_packed_cache_flag(CLI::App& command, std::string& packed_cache);
void set_packed_cache(const std::string& packed_cache, server::LoadOptions& load);
// Waits until the packed weights of a first start are kept, or Ctrl-C. writer may be null.
void finish_keeping(const weights::PackedWriter* writer);

// kContextLengthExceeded for more tokens in a row than the model was trained for.
Result<void> check_context(const server::LoadedModel& loaded, int64_t num_tokens);

// --log-steps: a line per step on standard error.
void print_step(const engine::Plan& plan, const engine::StepLogits& logits, const kv::KvCache& kv);

// "default" or "fp32".
Result<tensor::Numerics> parse_numerics(const std::string& text);

// --kv-type: "default" (none), "bf16", "int8" or "f32".
void add_kv_type_flag(CLI::App& command, std::string& kv_type);
Result<std::optional<tensor::KvType>> parse_kv_type(const std::string& text);

// on_text gets each piece as it becomes certain; false (nobody reads any more) stops the answer. Shows the progress of a
// long prompt.
Result<Answer> generate(Runner& runner, engine::GenerateRequest request,
                        const std::function<bool(const std::string&)>& on_text);

// Writes to standard output at once; false when it fails.
bool print_now(const std::string& text);

// Prompt ids of a conversation, by the model's chat template.
struct Turn {
  std::string role;
  std::string content;
};
Result<std::vector<int32_t>> render_turns(const server::LoadedModel& loaded, const std::vector<Turn>& turns);

// "12 prompt tokens · TTFT 31.0 ms · TPOT 7.6 ms · 131.6 tokens/s"
std::string timing_line(const Answer& answer);

// A conversation at the keyboard, until end of input or /exit.
struct ChatOptions {
  engine::GenerateRequest request;  // sampling and limits of every answer; the prompt is filled in
  std::string system;
  bool raw = false;  // no template: every line is continued on its own
};
Result<void> chat(Runner& runner, const ChatOptions& options);

}  // namespace brio::cli
