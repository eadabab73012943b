// What the subcommands of `brio bench` share.
#pragma once

#include <string>

#include "base/cpu.h"
#include "base/result.h"

namespace CLI {
class App;
}

namespace brio::cli {

void add_bench_kernels(CLI::App& bench, int& exit_code);
void add_bench_model(CLI::App& bench, int& exit_code);

// --isa: empty: the best one, or BRIO_ISA. An error when the CPU lacks it.
Result<Isa> parse_isa(const std::string& text);

}  // namespace brio::cli
