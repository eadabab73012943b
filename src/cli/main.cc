#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "cli/command.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), not the end of the process
  int exit_code = 0;
  CLI::App app{"brio answers LLM requests at the lowest latency this machine allows, and shows where the time went."};
  app.set_version_flag("--version", brio::cli::version_text);
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(
      "Start with:  brio run smollm2-135m -p \"Why is the sky blue?\"\nEach command explains itself: brio COMMAND "
      "--help");
  brio::cli::add_run_command(app, exit_code);
  brio::cli::add_serve_command(app, exit_code);
  brio::cli::add_store_commands(app, exit_code);
  brio::cli::add_inspect_command(app, exit_code);
  brio::cli::add_tokenize_commands(app, exit_code);
  brio::cli::add_template_command(app, exit_code);
  brio::cli::add_logits_command(app, exit_code);
  brio::cli::add_perplexity_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parse_error) {
    const int code = app.exit(parse_error);
    return code == 0 ? 0 : 2;
  }
  return exit_code;
}
