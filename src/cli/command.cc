#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/cpu.h"
#include "base/numerics_id.h"
#include "brio_version.h"
#include "cli/terminal.h"

namespace brio::cli {

int report(const Error& error) {
  fmt::print(stderr, "{} {}\n", bold("error:", STDERR_FILENO), error.message);
  if (!error.hint.empty()) fmt::print(stderr, "       {}\n", error.hint);
  return exit_code(error.code);
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
