#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "base/cpu.h"
#include "base/numerics_id.h"
#include "brio_version.h"
#include "cli/terminal.h"

namespace brio::cli {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

int report(const Error& error) {
  say(fmt::format("{} {}\n", bold("error:", STDERR_FILENO), printable(error.message)));
  if (!error.hint.empty()) say(fmt::format("       {}\n", printable(error.hint)));
  return exit_code(error.code);
}

int run_command(const std::function<Result<void>()>& body) {
  Result<void> result;
  try {
    result = body();
  } catch (const std::bad_alloc&) {
    result = error(ErrorCode::kOutOfMemory, "no memory");
  } catch (const std::system_error& failure) {  // fmt's on a broken output, std::thread's
    result = error(ErrorCode::kIo, "{}", failure.what());
  }
  if (result.ok() && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    result = error(ErrorCode::kIo, "standard output: cannot write");
  }
  return result.ok() ? 0 : report(result.error());
}

Result<std::vector<int32_t>> parse_token_ids(std::string_view text, int32_t vocab) {
  std::vector<int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto skip_blanks = [&] { at = std::find_if_not(at, end, is_blank); };
  skip_blanks();
  while (at != end) {
    int32_t id = 0;
    const auto [next, status] = std::from_chars(at, end, id);
    const bool ends = next == end || is_blank(*next) || *next == ',';
    if (status != std::errc{} || !ends || id < 0 || id >= vocab) {
      return error(ErrorCode::kInvalidArgument, "token ids, byte {}: not an id between 0 and {}", at - text.data(),
                   vocab - 1);
    }
    ids.push_back(id);
    at = next;
    skip_blanks();
    if (at != end && *at == ',') {
      ++at;
      skip_blanks();
      if (at == end) return error(ErrorCode::kInvalidArgument, "token ids, byte {}: an id is missing", text.size());
    }
  }
  return ids;
}

Result<std::string> read_text(const std::string& path) {
  constexpr size_t kMost = size_t{1} << 30;
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) return error(ErrorCode::kNotFound, "{}: {}", path, std::strerror(errno));
  std::string text;
  char buffer[1 << 16];
  size_t got = 0;
  while (text.size() <= kMost && (got = std::fread(buffer, 1, sizeof(buffer), file)) > 0) text.append(buffer, got);
  const bool failed = std::ferror(file) != 0;
  const int reason = errno;
  if (file != stdin) std::fclose(file);
  if (failed) return error(ErrorCode::kIo, "{}: {}", path, std::strerror(reason));
  if (text.size() > kMost) return error(ErrorCode::kInvalidArgument, "{}: larger than 1 GiB", path);
  return text;
}

std::string version_text() {
  const auto isa = choose_isa();
  return fmt::format("brio {} (commit {}, ISA {}, numerics {})", kVersion, kCommit,
                     isa.ok() ? name(*isa) : "unsupported", kNumericsId);
}

}  // namespace brio::cli
