// The interactive half of `brio run`: a prompt with history and line editing (libedit), and a few slash commands.
#include <editline/readline.h>
#include <fmt/format.h>
#include <termios.h>
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
    "/exit         leave (so does Ctrl-D); Ctrl-C stops an answer or clears the line\n";

// While a line is edited Ctrl-C is a key like others, bound to clearing the line; the program is never interrupted there.
class InterruptAsKey {
 public:
  InterruptAsKey() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
    changed_ = true;
    termios now = before_;
    now.c_cc[VINTR] = _POSIX_VDISABLE;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
  }
  ~InterruptAsKey() {
    if (changed_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  InterruptAsKey(const InterruptAsKey&) = delete;
  InterruptAsKey& operator=(const InterruptAsKey&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

// A line with editing and history on a terminal, a plain one from a pipe; nothing at the end of input.
std::optional<std::string> read_line(bool terminal) {
  if (!terminal) {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  char* line = nullptr;
  {
    const InterruptAsKey guard;
    line = readline("> ");
  }
  if (line == nullptr) return std::nullopt;
  std::string text = line;
  std::free(line);  // NOLINT(cppcoreguidelines-no-malloc): libedit's contract
  if (!text.empty()) add_history(text.c_str());
  return text;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
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
    const size_t blank = std::min(line.find(' '), line.size());
    const std::string command = line.substr(0, blank);
    const std::string argument = trimmed(line.substr(blank));
    if (command == "/exit" || command == "/quit") return false;
    if (command == "/clear") {
      clear();
      fmt::print("cleared\n");
    } else if (command == "/save") {
      if (auto saved = save(argument, turns_); !saved.ok()) report(saved.error());
    } else if (command == "/timing") {
      timing_ = !timing_;
      fmt::print("timing {}\n", timing_ ? "on" : "off");
    } else if (command == "/help") {
      fmt::print("{}", kHelp);
    } else {
      fmt::print("no command {}; /help lists them, a blank in front sends the line as it is\n", printable(command));
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
    auto result = generate(runner_, std::move(request), print_now);
    fmt::print("\n");
    if (!result.ok()) return drop_turn(result.error());
    turns_.push_back({"assistant", result->text});
    if (result->reason == engine::FinishReason::kAbort) fmt::print("{}\n", dim("stopped", STDOUT_FILENO));
    if (!timing_) return;
    std::fflush(stdout);
    say(dim(timing_line(*result), STDERR_FILENO) + "\n");
  }

  void drop_turn(const Error& failure) {
    turns_.pop_back();
    if (std::ferror(stdout) == 0) report(failure);  // else the conversation ends with that
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
    rl_parse_and_bind("bind ^C em-kill-line");
    read_history(history.c_str());
    fmt::print("{}\n", dim(runner.loaded.name + " · /help for commands", STDOUT_FILENO));
  }
  std::error_code ignored;  // history is a convenience: an unwritable home costs it and nothing else
  if (terminal) std::filesystem::create_directories(history.parent_path(), ignored);
  Session session(runner, options);
  for (auto line = read_line(terminal); line; line = read_line(terminal)) {
    if (terminal) write_history(history.c_str());
    if (!session.take(*line) || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) break;
  }
  if (terminal) fmt::print("\n");
  return {};
}

}  // namespace brio::cli
