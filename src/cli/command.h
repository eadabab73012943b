// Subcommands: each file of cli/ adds one (or a family) to the command line. A command parses flags, calls one module and
// prints; it holds no logic of its own. Exit codes are those of base/result.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace brio::cli {

// Registers the subcommand; its callback sets exit_code.
void add_run_command(CLI::App& app, int& exit_code);
void add_serve_command(CLI::App& app, int& exit_code);
void add_store_commands(CLI::App& app, int& exit_code);  // pull, models, rm
void add_logits_command(CLI::App& app, int& exit_code);
void add_perplexity_command(CLI::App& app, int& exit_code);
void add_tokenize_commands(CLI::App& app, int& exit_code);  // tokenize, detokenize
void add_template_command(CLI::App& app, int& exit_code);
void add_inspect_command(CLI::App& app, int& exit_code);
void add_prove_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code);

// Prints "error: ..." and the hint on standard error, coloured on a terminal; returns the exit code of the error's class.
int report(const Error& error);

// Runs a command body, then writes out what it printed; reports what fails of either. Returns the exit code.
int run_command(const std::function<Result<void>()>& body);

// Token ids separated by blanks, newlines or one comma each; errors name the byte.
Result<std::vector<int32_t>> parse_token_ids(std::string_view text, int32_t vocab);

// The whole of a file, or of standard input for "-". At most 1 GiB.
Result<std::string> read_text(const std::string& path);

std::string version_text();  // commit, ISA, numerics id

}  // namespace brio::cli
