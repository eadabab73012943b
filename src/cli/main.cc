#include <unistd.h>

#include <CLI/CLI.hpp>
#include <clocale>
#include <csignal>
#include <cstdlib>

#include "cli/command.h"

int main(int argc, char** argv) {
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parse_error) {
    const int code = app.exit(parse_error);
    return code == 0 ? 0 : 2;
  }
  return exit_code;
}
