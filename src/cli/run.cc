// run: one answer to one prompt, or a conversation at the keyboard.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <charconv>
#include <climits>
#include <cstdio>
#include <memory>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "server/chat_prompt.h"

namespace brio::cli {
namespace {

struct Flags {
  RunnerOptions runner;
  std::string text, file, dash, system;
  bool has_text = false, has_file = false;
  bool raw = false, json = false;
  int max_tokens = -1;
  uint64_t seed = 0;
  bool has_seed = false;
  engine::GenerateRequest request;
};

boost::json::object to_json(const Answer& answer, double load_ms) {
  boost::json::array tokens(answer.tokens.begin(), answer.tokens.end());
  const double tokens_per_second = answer.tpot_ms > 0 ? 1000.0 / answer.tpot_ms : 0.0;
  return {{"text", answer.text},
          {"tokens", std::move(tokens)},
          {"finish_reason", std::string(engine::name(answer.reason))},
          {"seed", answer.seed},
          {"usage",
           {{"prompt_tokens", answer.usage.prompt_tokens},
            {"completion_tokens", answer.usage.completion_tokens},
            {"total_tokens", answer.usage.prompt_tokens + answer.usage.completion_tokens}}},
          {"timings",
           {{"load_ms", load_ms},
            {"ttft_ms", answer.ttft_ms},
            {"tpot_ms", answer.tpot_ms},
            {"prefill_ms", answer.prefill_ms},
            {"total_ms", answer.total_ms},
            {"tokens_per_second", tokens_per_second}}}};
}

Result<std::vector<int32_t>> encode_prompt(const server::LoadedModel& loaded, const Flags& flags,
                                           const std::string& text) {
  if (flags.raw || !loaded.chat_template) {
    return server::completion_prompt(loaded, text);
  }
  std::vector<Turn> turns;
  if (!flags.system.empty()) turns.push_back({"system", flags.system});
  turns.push_back({"user", text});
  return render_turns(loaded, turns);
}

Result<void> answer_once(Runner& runner, const Flags& flags, const std::string& text) {
  engine::GenerateRequest request = flags.request;
  BRIO_TRY(request.prompt, encode_prompt(runner.loaded, flags, text));
  BRIO_TRY(const Answer answer, generate(runner, std::move(request),
                                         [&](const std::string& piece) { return flags.json || print_now(piece); }));
  if (flags.json) {
    fmt::print("{}\n", boost::json::serialize(to_json(answer, runner.loaded.load_ms)));
  } else {
    fmt::print("\n");
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", dim(timing_line(answer), STDERR_FILENO));
  }
  if (answer.reason == engine::FinishReason::kAbort) return Error{ErrorCode::kCancelled, "interrupted", {}};
  return {};
}

Result<void> run(Flags& flags) {
  if (flags.max_tokens >= 0) flags.request.max_tokens = flags.max_tokens;
  if (flags.has_seed) flags.request.sampling.seed = flags.seed;
  std::string text = flags.text;
  const bool from_stdin = flags.dash == "-";
  if (!flags.dash.empty() && !from_stdin) {
    return error(ErrorCode::kInvalidArgument, "'{}': only - is allowed after MODEL; a prompt goes behind -p",
                 flags.dash);
  }
  if (from_stdin && (flags.has_text || flags.has_file)) {
    return error(ErrorCode::kInvalidArgument, "one prompt only: -p, -f or -");
  }
  if (flags.raw && !flags.system.empty()) {
    return error(ErrorCode::kInvalidArgument, "--system needs the chat template that --raw leaves out");
  }
  if (flags.has_file || from_stdin) {
    BRIO_TRY(text, read_text(from_stdin ? "-" : flags.file));
  }
  BRIO_TRY(Runner runner, load_runner(flags.runner));
  if (!flags.raw && runner.loaded.template_error) {
    Error broken = *runner.loaded.template_error;
    broken.hint = "--raw continues the text without a chat template.";
    return broken;
  }
  if (!runner.loaded.chat_template && !flags.raw) {
    flags.raw = true;
    fmt::print(
        stderr, "{}\n",
        dim(runner.loaded.name + " is a base model without a chat template: it continues the raw text", STDERR_FILENO));
  }
  const bool once = flags.has_text || flags.has_file || from_stdin;
  if (!once && flags.json) return error(ErrorCode::kInvalidArgument, "--json needs a prompt: -p, -f or -");
  Result<void> answered =
      once ? answer_once(runner, flags, text) : chat(runner, {flags.request, flags.system, flags.raw});
  if (answered.ok()) finish_keeping(runner.loaded.keeping.get());
  return answered;
}

void add_sampling_flags(CLI::App& command, Flags& flags) {
  engine::SamplingParams& sampling = flags.request.sampling;
  sampling.temperature = 0.0F;
  command
      .add_option("-n,--max-tokens", flags.max_tokens, "Most tokens to generate (default: to the end of the context)")
      ->check(CLI::Range(0, INT_MAX));
  command.add_option("--temperature", sampling.temperature,
                     "0: always the likeliest token, the same answer every time (default); higher: more varied");
  command.add_option("--top-k", sampling.top_k, "Sample from the k likeliest tokens only (0: all)");
  command.add_option("--top-p", sampling.top_p, "Sample from the likeliest tokens whose probabilities reach p");
  command.add_option("--min-p", sampling.min_p, "Leave out tokens below this share of the likeliest one's probability");
  command.add_option("--repetition-penalty", sampling.repetition_penalty,
                     "Above 1: makes repeating tokens less likely");
  command.add_option("--seed", flags.seed, "Repeat a random answer")->check([](const std::string& text) {
    uint64_t seed = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), seed);
    const bool whole = status == std::errc{} && end == text.data() + text.size();
    return whole ? std::string() : "not a number between 0 and 18446744073709551615";
  });
  command.add_option("--stop", flags.request.stop, "End the answer before this text (may be given several times)")
      ->allow_extra_args(false);
  command.add_flag("--ignore-eos", flags.request.ignore_eos, "Go on past the model's end-of-text token");
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("run", "Answer a prompt, or chat when none is given");
  command->add_option("MODEL", flags->runner.model, "A model's name, a .gguf file or a safetensors folder")->required();
  command->add_option("INPUT", flags->dash, "- reads the prompt from standard input");
  CLI::Option* text = command->add_option("-p,--prompt", flags->text, "The prompt");
  CLI::Option* file = command->add_option("-f,--file", flags->file, "Read the prompt from a file")->excludes(text);
  command->add_option("--system", flags->system, "A system message in front of the conversation");
  command->add_flag("--raw", flags->raw, "Continue the text as it stands, without the chat template");
  command->add_flag("--json", flags->json,
                    "Print {text, tokens, finish_reason, usage, timings} when done, instead of streaming");
  add_sampling_flags(*command, *flags);
  command->add_option("--ctx", flags->runner.context, "Tokens of context (default: what the model was trained for)")
      ->check(CLI::Range(1, 1 << 24));
  add_threads_flag(*command, flags->runner.threads);
  add_packed_cache_flag(*command, flags->runner.packed_cache);
  command->add_option("--numerics", flags->runner.numerics, "default, or fp32: exact weights and fp32 everywhere, slow")
      ->capture_default_str();
  add_kv_type_flag(*command, flags->runner.kv_type);
  command->add_flag("--log-steps", flags->runner.log_steps, "Print the rows, sequences and chunks of every step");
  command->callback([flags, text, file, command, &exit_code] {
    flags->has_text = text->count() > 0;
    flags->has_file = file->count() > 0;
    flags->has_seed = command->get_option("--seed")->count() > 0;
    exit_code = run_command([&] { return run(*flags); });
  });
}

}  // namespace brio::cli
