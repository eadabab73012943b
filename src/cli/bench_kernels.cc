// bench kernels: every kernel beside the machine's roof.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "bench/kernel_bench.h"
#include "bench/machine.h"
#include "cli/answer.h"
#include "cli/bench.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace brio::cli {
namespace {

constexpr int kNumTypes = static_cast<int>(tensor::DType::kIQ4_XS) + 1;

struct Flags {
  std::vector<std::string> types;
  bench::KernelBenchOptions options;
  std::string isa;
  int64_t working_set_mib = 0;
  bool json = false;
};

Result<std::vector<tensor::DType>> parse_types(const std::vector<std::string>& names) {
  std::vector<tensor::DType> types;
  std::vector<std::string_view> known;
  for (int t = 0; t < kNumTypes; ++t) {
    const auto type = static_cast<tensor::DType>(t);
    known.push_back(tensor::name(type));
    if (names.empty() || std::find(names.begin(), names.end(), known.back()) != names.end()) types.push_back(type);
  }
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return error(ErrorCode::kInvalidArgument, "--type {}: not one of {}", name, fmt::join(known, ", "));
    }
  }
  return types;
}

Result<void> bench_kernels(const Flags& flags) {
  bench::KernelBenchOptions options = flags.options;
  BRIO_TRY(options.types, parse_types(flags.types));
  BRIO_TRY(options.isa, parse_isa(flags.isa));
  if (options.threads == 0) options.threads = effective_cpus();
  const int64_t working_set = flags.working_set_mib << 20;
  options.working_set_bytes = working_set > 0 ? working_set : bench::default_working_set_bytes();
  options.probe_bytes = working_set > 0 ? working_set : bench::default_probe_bytes();
  if (!flags.json) {
    fmt::print("{}, {}, {} threads, working set {}, read probe {}\n", cpu_model(), name(options.isa), options.threads,
               format_bytes(options.working_set_bytes), format_bytes(options.probe_bytes));
    fmt::print("{}\n", bold(bench::kernel_heading(), STDOUT_FILENO));
  }
  const InterruptGuard guard;
  BRIO_TRY(const bench::KernelReport report, bench::run_kernel_bench(options, [&](const bench::KernelResult& result) {
             if (!flags.json) {
               fmt::print("{}\n", bench::to_line(result));
               std::fflush(stdout);
             }
             return !InterruptGuard::interrupted();
           }));
  if (flags.json) {
    fmt::print("{}\n", bench::to_json(report));
  } else {
    fmt::print("\n{}", bench::to_text(report.probes));
    for (const std::string& warning : report.warnings) say(fmt::format("warning: {}\n", warning));
  }
  if (InterruptGuard::interrupted()) return error(ErrorCode::kCancelled, "interrupted");
  return bench::check_shares(report.results);
}

}  // namespace

void add_bench_kernels(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("kernels", "Linear layers, attention, row kernels: GB/s, GMAC/s, share of the roof");
  command->add_option("--type", flags->types, "Types of weights, such as Q4_K,Q6_K (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--rows", flags->options.rows, "Rows of activations in linear layers")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  command->add_option("--filter", flags->options.filter, "Only kernels whose name contains this");
  command->add_option("--rounds", flags->options.rounds, "Rounds; medians are reported")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--isa", flags->isa, "scalar, avx2 or avx512 (default: the best one, or BRIO_ISA)");
  command
      ->add_option("--working-set", flags->working_set_mib,
                   "MiB of distinct weights or keys and values, and of the read probe (default: 8 x the last cache)")
      ->check(CLI::Range(1, 1 << 20));
  command->add_flag("--json", flags->json, "One JSON object instead of the table");
  add_threads_flag(*command, flags->options.threads);
  command->callback([flags, &exit_code] { exit_code = run_command([&] { return bench_kernels(*flags); }); });
}

}  // namespace brio::cli
