// bench: how fast kernels and models run, beside what the machine could do.
#include "cli/bench.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace brio::cli {

Result<Isa> parse_isa(const std::string& text) {
  if (text.empty()) return choose_isa();
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (name(isa) != text) continue;
    if (cpu_supports(isa)) return isa;
    return error(ErrorCode::kUnsupported, "--isa {}: this CPU ({}) does not have it", text, cpu_model());
  }
  return error(ErrorCode::kInvalidArgument, "--isa {}: not one of scalar, avx2, avx512", text);
}

void add_bench_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("bench", "Measure kernels and models beside what this machine can do");
  command->require_subcommand(1);
  add_bench_kernels(*command, exit_code);
  add_bench_model(*command, exit_code);
}

}  // namespace brio::cli
