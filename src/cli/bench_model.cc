// bench model: prefill and decode of a model beside the machine's roof.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "bench/machine.h"
#include "bench/model_bench.h"
#include "cli/answer.h"
#include "cli/bench.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace brio::cli {
namespace {

constexpr int kMostSequences = 256;
constexpr int kMostTokens = 1 << 20;

struct Flags {
  std::string model, isa, json;
  bench::ModelBenchOptions options;
  int64_t probe_mib = 0;
};

Result<void> write_file(const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (file == nullptr) return error(ErrorCode::kIo, "--json {}: {}", path, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file == stdout || std::fclose(file) == 0;
  if (!written || !closed) return error(ErrorCode::kIo, "--json {}: {}", path, std::strerror(errno));
  return {};
}

Result<void> bench_model(const Flags& flags) {
  bench::ModelBenchOptions options = flags.options;
  BRIO_TRY(options.isa, parse_isa(flags.isa));
  if (options.threads == 0) options.threads = effective_cpus();
  options.probe_bytes = flags.probe_mib > 0 ? flags.probe_mib << 20 : bench::default_probe_bytes();
  BRIO_TRY(const weights::Checkpoint checkpoint, server::open_checkpoint(flags.model));
  ProgressLine loading("loading " + flags.model);
  BRIO_TRY(bench::ModelUnderTest tested,
           bench::load_for_bench(checkpoint, options, [&](double done) { loading.fraction(done); }));
  loading.finish();
  const InterruptGuard guard;
  ProgressLine progress("rounds");
  BRIO_TRY(const bench::ModelReport report, bench::run_model_bench(tested, options, [&](double done) {
             progress.fraction(done);
             return !InterruptGuard::interrupted();
           }));
  progress.finish();
  if (!flags.json.empty()) BRIO_TRY_OK(write_file(flags.json, bench::to_json(report) + "\n"));
  if (flags.json != "-") {
    fmt::print("{}: {}, {}, {} threads, {} of weights a step\n", report.model, cpu_model(), name(options.isa),
               options.threads, format_bytes(report.cost.weight_bytes));
    fmt::print("{}", bench::to_table(report));
  }
  for (const std::string& warning : report.warnings) say(fmt::format("warning: {}\n", warning));
  return {};
}

}  // namespace

void add_bench_model(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("model", "Prefill and decode tokens/s, share of the roof, time by operation");
  command->add_option("MODEL", flags->model, "A model's name, a .gguf file or a safetensors folder")->required();
  command->add_option("-p,--prompt", flags->options.prompt, "Tokens of a prefill; 0: none")
      ->check(CLI::Range(0, kMostTokens))
      ->capture_default_str();
  command->add_option("-n,--tokens", flags->options.tokens, "Steps of a decode; 0: none")
      ->check(CLI::Range(0, kMostTokens))
      ->capture_default_str();
  command->add_option("-b,--batch", flags->options.batches, "Sequences that decode together")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, kMostSequences))
      ->capture_default_str();
  command->add_option("--kv", flags->options.contexts, "Tokens in the cache before either; their keys are made up")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, kMostTokens))
      ->capture_default_str();
  command->add_option("--rounds", flags->options.rounds, "Rounds; medians are reported")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--isa", flags->isa, "scalar, avx2 or avx512 (default: the best one, or BRIO_ISA)");
  command
      ->add_option("--probe", flags->probe_mib,
                   "MiB that the read probe reads (default: 1 GiB, at least 8 x the last cache)")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--json", flags->json,
                      "Where to write the report as JSON; - is standard output, without the table");
  add_threads_flag(*command, flags->options.threads);
  command->callback([flags, &exit_code] { exit_code = run_command([&] { return bench_model(*flags); }); });
}

}  // namespace brio::cli
