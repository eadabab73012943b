#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "cli/command.h"

namespace {

// A standard stream that is closed stays one that cannot be read or written: else the next file or socket that is opened
// takes its number, and gets what is meant for the stream.
void keep_standard_numbers() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    [[maybe_unused]] const int number = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// The exit code of a command line that asks for help, or cannot be understood.
int explain(const CLI::App& app, const CLI::ParseError& parse_error) {
  const bool wrong = app.exit(parse_error) != 0;
  if (wrong) return brio::exit_code(brio::ErrorCode::kInvalidArgument);
  return std::cout.flush() ? 0 : brio::exit_code(brio::ErrorCode::kIo);
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_numbers();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), not the end of the process
  std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that has reached its limit
  // Characters, for line editing; numbers stay as they are everywhere.
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  int exit_code = 0;
  CLI::App app{"brio answers LLM requests at the lowest latency this machine allows, and shows where the time went."};
  app.set_version_flag("--version", brio::cli::version_text);
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(
      "Start with:  brio run smollm2-135m -p \"Why is the sky blue?\"\n"
      "Each command explains itself: brio COMMAND --help\n"
      "Exit codes: 0 done, 2 usage, 3 file, 4 not found, 5 a limit, 6 network, 7 numbers, 70 a fault of brio's, 130 "
      "interrupted");
  brio::cli::add_run_command(app, exit_code);
  brio::cli::add_serve_command(app, exit_code);
  brio::cli::add_store_commands(app, exit_code);
  brio::cli::add_inspect_command(app, exit_code);
  brio::cli::add_tokenize_commands(app, exit_code);
  brio::cli::add_template_command(app, exit_code);
  brio::cli::add_logits_command(app, exit_code);
  brio::cli::add_perplexity_command(app, exit_code);
  brio::cli::add_prove_command(app, exit_code);
  brio::cli::add_bench_command(app, exit_code);
  const auto is_named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    return brio::cli::report({brio::ErrorCode::kInvalidArgument, fmt::format("there is no command '{}'", argv[1]),
                              "brio --help lists them."});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parse_error) {
    return explain(app, parse_error);
  }
  return exit_code;
}
