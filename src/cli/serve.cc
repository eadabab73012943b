// serve: a model behind the HTTP APIs of OpenAI, Anthropic and Ollama.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "server/lifecycle.h"

namespace brio::cli {
namespace {

struct Flags {
  server::ServeOptions serve;
  std::string batching = "continuous";
  std::string kv_memory;
  std::string config;
  bool print_config = false;
  std::string numerics = "default";
  std::string packed_cache;
  std::string kv_type = "default";
  int max_sequences = 32;
  int max_batch_tokens = 512;
  int batch_wait_ms = 50;
  int drain_seconds = 600;
  bool log_steps = false;
};

// "512M", "2G", "1.5GiB", or plain bytes. Powers of 1024, as the flags of other engines have it.
Result<int64_t> parse_bytes(const std::string& where, const std::string& text) {
  size_t used = 0;
  double number = -1.0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  std::string unit = text.substr(used);
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
  int shift = -1;
  if (unit.empty() || unit == "b") shift = 0;
  if (unit == "k" || unit == "kb" || unit == "kib") shift = 10;
  if (unit == "m" || unit == "mb" || unit == "mib") shift = 20;
  if (unit == "g" || unit == "gb" || unit == "gib") shift = 30;
  const double bytes = shift < 0 ? -1.0 : number * static_cast<double>(int64_t{1} << shift);
  if (used == 0 || !(bytes >= 1.0 && bytes < 1e15)) {
    return error(ErrorCode::kInvalidArgument, "{} {}: has to be a size such as 512M or 2G", where, text);
  }
  return static_cast<int64_t>(bytes);
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

void print_serving(const server::Serving& serving) {
  const server::LoadedModel& model = serving.model;
  std::string page;
  const auto line = [&page](const char* label, const std::string& text) {
    page += fmt::format("{}  {}\n", bold(fmt::format("{:<10}", label), STDOUT_FILENO), text);
  };
  line("model", fmt::format("{} · {} of weights{} · {} · loaded in {:.1f} s", model.name,
                            format_bytes(model.model->weight_bytes()), model.mapped_bytes > 0 ? ", mapped" : "",
                            name(model.isa), model.load_ms / 1000.0));
  const int trained = model.model->config().context;
  line("--ctx",
       fmt::format("{} tokens{}", grouped(serving.stats.max_context),
                   serving.stats.max_context < trained ? fmt::format(" of the {} it was trained for", grouped(trained))
                                                       : " (what the model was trained for)"));
  line("--kv-memory", fmt::format("{} (this process may use {})", format_bytes(serving.stats.kv_bytes),
                                  format_bytes(serving.memory_limit_bytes)));
  line("--kv-type", std::string(tensor::name(model.model->config().kv_type)));
  if (model.chat_template) {
    line("chat", fmt::format("tool calls: {} · reasoning: {}", model.output.tools ? model.output.tools->name : "none",
                             model.output.reasoning ? model.output.reasoning->name : "none"));
  }
  line("url", serving.url + "/v1");
  const bool chat = model.chat_template.has_value();
  page += fmt::format("\ncurl {}/v1/{} -H 'Content-Type: application/json' \\\n  -d '{}'\n\n", serving.url,
                      chat ? "chat/completions" : "completions",
                      chat ? R"({"messages": [{"role": "user", "content": "Why is the sky blue?"}], "max_tokens": 100})"
                           : R"({"prompt": "The sky is blue because", "max_tokens": 100})");
  if (!chat) page += dim("A base model without a chat template: /v1/completions only.", STDOUT_FILENO) + "\n";
  if (!show(page)) say(fmt::format("standard output: cannot write: {}; serving all the same\n", std::strerror(errno)));
}

// Settings that cannot be meant together.
Result<void> check_combinations(const Flags& flags, const Settings& settings) {
  const bool continuous = flags.batching == "continuous";
  for (const char* name : {"batch-size", "batch-wait-ms"}) {
    const bool unused = continuous || (flags.batching == "static" && name == std::string_view("batch-wait-ms"));
    if (unused && settings.given(name)) {
      return error(ErrorCode::kInvalidArgument, "{}: changes nothing with {} batching", settings.where(name),
                   flags.batching);
    }
  }
  const int batch_size = flags.serve.engine.batching.size;
  if (!continuous && batch_size > flags.max_sequences) {
    return error(ErrorCode::kInvalidArgument, "{}: a batch of {} never fills where {} sequences run at once ({})",
                 settings.where("batch-size"), batch_size, flags.max_sequences, settings.where("max-sequences"));
  }
  if (settings.given("max-batch-tokens") && flags.max_batch_tokens < flags.max_sequences) {
    return error(ErrorCode::kInvalidArgument, "{}: {} tokens a step are not one for each of {} sequences ({})",
                 settings.where("max-batch-tokens"), flags.max_batch_tokens, flags.max_sequences,
                 settings.where("max-sequences"));
  }
  return {};
}

Result<void> serve(Flags& flags, Settings& settings) {
  BRIO_TRY_OK(settings.load(flags.config));
  BRIO_TRY_OK(check_combinations(flags, settings));
  if (flags.print_config) {
    std::fputs(settings.toml().c_str(), stdout);
    return {};
  }
  server::ServeOptions& options = flags.serve;
  if (options.model.empty()) {
    return error(ErrorCode::kInvalidArgument,
                 "MODEL is missing: an argument, BRIO_MODEL, or model = ... in the file of --config");
  }
  BRIO_TRY(options.load.numerics, parse_numerics(flags.numerics));
  BRIO_TRY(options.load.kv_type, parse_kv_type(flags.kv_type));
  BRIO_TRY(options.engine.batching.mode, engine::parse_batching(flags.batching));
  if (settings.given("kv-memory")) {
    BRIO_TRY(options.capacity.kv_bytes, parse_bytes(settings.where("kv-memory"), flags.kv_memory));
  }
  options.engine.batching.max_wait = std::chrono::milliseconds(flags.batch_wait_ms);
  options.engine.max_sequences = options.capacity.max_sequences = flags.max_sequences;
  options.load.limits.max_rows = std::max(flags.max_batch_tokens, flags.max_sequences);
  options.load.limits.max_logits = flags.max_sequences;
  options.drain_timeout = std::chrono::seconds(flags.drain_seconds);
  if (flags.log_steps) options.engine.on_step = print_step;
  set_packed_cache(flags.packed_cache, options.load);
  ProgressLine progress("loading " + options.model);
  options.load.progress = [&](double done) { progress.fraction(done); };
  server::ServeEvents events;
  events.listening = [](const std::string& url) {
    say(dim(fmt::format("listening on {}; /health answers 503 until the model is loaded", url), STDERR_FILENO) + "\n");
  };
  events.serving = [&](const server::Serving& serving) {
    progress.finish();
    print_serving(serving);
  };
  events.draining = [](int calls) {
    say(fmt::format("draining: {} requests under way; a second signal stops at once\n", calls));
  };
  return server::serve(std::move(options), events);
}

void add_capacity_flags(CLI::App& command, Flags& flags) {
  command
      .add_option("--ctx", flags.serve.capacity.context,
                  "Tokens a sequence may reach (default: what the model was trained for, as far as memory goes)")
      ->check(CLI::Range(1, INT_MAX));
  command.add_option(
      "--kv-memory", flags.kv_memory,
      "Memory of the KV cache, such as 512M or 2G (default: half of what the weights leave, at most what is useful)");
  add_threads_flag(command, flags.serve.load.num_threads);
  add_packed_cache_flag(command, flags.packed_cache);
  command.add_option("--numerics", flags.numerics, "default, or fp32: exact weights and fp32 everywhere, slow")
      ->capture_default_str();
  add_kv_type_flag(command, flags.kv_type);
}

void add_parser_flags(CLI::App& command, server::LoadOptions& load) {
  command
      .add_option("--tool-parser,--tool-call-parser", load.tool_parser,
                  "How the model writes tool calls: auto (by its chat template), none, hermes, llama3, mistral, "
                  "deepseek, json")
      ->capture_default_str();
  command
      .add_option("--reasoning-parser", load.reasoning_parser,
                  "How it marks reasoning: auto (by its chat template), none, think, mistral")
      ->capture_default_str();
}

void add_batching_flags(CLI::App& command, Flags& flags) {
  engine::EngineOptions& engine = flags.serve.engine;
  command
      .add_option("--batching", flags.batching,
                  "continuous: requests join at every step; static, dynamic: for comparison")
      ->check(CLI::IsMember({"static", "dynamic", "continuous"}))
      ->capture_default_str();
  command.add_option("--batch-size", engine.batching.size, "Requests of a static or dynamic batch")
      ->check(CLI::Range(1, INT_MAX))
      ->capture_default_str();
  command.add_option("--batch-wait-ms", flags.batch_wait_ms, "Longest wait for a dynamic batch to fill")
      ->check(CLI::Range(0, INT_MAX))
      ->capture_default_str();
  command.add_option("--max-batch-tokens", flags.max_batch_tokens, "Tokens computed in one step, over all sequences")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command.add_option("--max-sequences", flags.max_sequences, "Sequences that run at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command.add_option("--max-queue", engine.max_waiting, "Requests that may wait; more are refused with 429")
      ->check(CLI::Range(1, INT_MAX))
      ->capture_default_str();
  command.add_flag("--log-steps", flags.log_steps, "Print the rows, sequences and chunks of every step");
}

}  // namespace

void add_serve_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  net::HttpServerOptions& http = flags->serve.http;
  http.port = 8080;
  CLI::App* command =
      app.add_subcommand("serve", "Serve a model over HTTP, for clients of OpenAI, Anthropic and Ollama");
  command->add_option("MODEL", flags->serve.model, "A model's name, a .gguf file or a safetensors folder");
  command->add_option("--host", http.host, "Address to listen on; 0.0.0.0 opens it to the network")
      ->capture_default_str();
  command->add_option("--port", http.port, "Port; 0 takes a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      ->add_option("--served-model-name", flags->serve.names,
                   "What clients call the model (may be given several times); a pattern such as 'claude-*' stands "
                   "for all names that match and is not listed")
      ->allow_extra_args(false);
  add_capacity_flags(*command, *flags);
  add_batching_flags(*command, *flags);
  add_parser_flags(*command, flags->serve.load);
  command->add_option("--drain-timeout", flags->drain_seconds, "Seconds that requests under way may take after SIGTERM")
      ->check(CLI::Range(0, INT_MAX))
      ->capture_default_str();
  command
      ->add_option("--config", flags->config,
                   "A TOML file with settings of the same names (max-queue = 8); flags and BRIO_MAX_QUEUE in the "
                   "environment come before it")
      ->envname("BRIO_CONFIG");
  command->add_flag("--print-config", flags->print_config,
                    "Print all settings, and where they come from, as such a file");
  command->callback([flags, command, &exit_code] {
    exit_code = run_command([&] {
      Settings settings(*command);
      return serve(*flags, settings);
    });
  });
}

}  // namespace brio::cli
