// The interactive half of `brio run`: a prompt with history and line editing (libedit), and a few slash commands.
#include <editline/readline.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "hub/store.h"
#include "server/chat_prompt.h"

namespace brio::cli {
namespace {

constexpr std::string_view kHelp =
    "/clear        forget the conversation\n"
    "/save FILE    write the conversation as text\n"
    "/timing       show or hide the timing line\n"
    "/exit         leave (so does Ctrl-D); Ctrl-C stops an answer\n";

// A line with editing and history on a terminal, a plain one from a pipe; nothing at the end of input.
std::optional<std::string> read_line(bool terminal) {
  if (!terminal) {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  char* line = readline("> ");
  if (line == nullptr) return std::nullopt;
  std::string text = line;
  std::free(line);  // NOLINT(cppcoreguidelines-no-malloc): libedit's contract
  if (!text.empty()) add_history(text.c_str());
  return text;
}

Result<void> save(const std::string& path, const std::vector<Turn>& turns) {
  if (path.empty()) return error(ErrorCode::kInvalidArgument, "/save needs a file name");
  std::ofstream out(path);
  for (const Turn& turn : turns) out << turn.role << ":\n" << turn.content << "\n\n";
  out.flush();
  if (!out) return error(ErrorCode::kIo, "cannot write '{}'", path);
  fmt::print("saved {} messages to {}\n", turns.size(), path);
  return {};
}

class Session {
 public:
  Session(Runner& runner, const ChatOptions& options) : runner_(runner), options_(options) { clear(); }

  // False: leave.
  bool take(const std::string& line) {
    if (line.empty()) return true;
    if (line[0] != '/') {
      answer(line);
      return true;
    }
    const size_t blank = line.find(' ');
    const std::string command = line.substr(0, blank);
    const std::string argument = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (command == "/exit" || command == "/quit") return false;
    if (command == "/clear") {
      clear();
      fmt::print("cleared\n");
    } else if (command == "/save") {
      if (auto saved = save(argument, turns_); !saved.ok()) report(saved.error());
    } else if (command == "/timing") {
      timing_ = !timing_;
      fmt::print("timing {}\n", timing_ ? "on" : "off");
    } else {
      fmt::print("{}", kHelp);
    }
    return true;
  }

 private:
  void clear() {
    turns_.clear();
    if (!options_.system.empty()) turns_.push_back({"system", options_.system});
  }

  void answer(const std::string& line) {
    turns_.push_back({"user", line});
    auto prompt = options_.raw ? server::completion_prompt(runner_.loaded, line) : render_turns(runner_.loaded, turns_);
    if (!prompt.ok()) return drop_turn(prompt.error());
    engine::GenerateRequest request = options_.request;
    request.prompt = std::move(prompt).value();
    auto result = generate(*runner_.engine, std::move(request), [](const std::string& text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    });
    fmt::print("\n");
    if (!result.ok()) return drop_turn(result.error());
    turns_.push_back({"assistant", result->text});
    if (result->reason == engine::FinishReason::kAbort) fmt::print("{}\n", dim("stopped", STDOUT_FILENO));
    if (timing_) fmt::print("{}\n", dim(timing_line(*result), STDOUT_FILENO));
  }

  void drop_turn(const Error& failure) {
    turns_.pop_back();
    report(failure);
  }

  Runner& runner_;
  const ChatOptions& options_;
  std::vector<Turn> turns_;
  bool timing_ = true;
};

}  // namespace

Result<void> chat(Runner& runner, const ChatOptions& options) {
  const bool terminal = isatty(STDIN_FILENO) != 0;
  const std::filesystem::path history = hub::home() / "history";
  if (terminal) {
    using_history();
    read_history(history.c_str());
    fmt::print("{}\n", dim(runner.loaded.name + " · /help for commands", STDOUT_FILENO));
  }
  Session session(runner, options);
  for (auto line = read_line(terminal); line && session.take(*line); line = read_line(terminal)) {
  }
  if (terminal) {
    std::error_code ignored;  // history is a convenience: an unwritable home costs it and nothing else
    std::filesystem::create_directories(history.parent_path(), ignored);
    write_history(history.c_str());
    fmt::print("\n");
  }
  return {};
}

}  // namespace brio::cli
