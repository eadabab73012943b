#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace brio::cli {
namespace {

using std::chrono::steady_clock;

std::string styled(const char* code, const std::string& text, int descriptor) {
  const char* const no_color = std::getenv("NO_COLOR");  // no-color.org: set, and not empty
  const bool plain = (no_color != nullptr && *no_color != '\0') || !is_terminal(descriptor);
  return plain ? text : fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string format_seconds(double seconds) {
  const auto whole = static_cast<int64_t>(std::clamp(seconds, 0.0, 359999.0));
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// False: errno says why, and some of the text may have been written.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

void say(std::string_view text) {
  static std::mutex mutex;
  static int64_t num_lost = 0;
  static int reason = 0;
  const std::lock_guard lock(mutex);
  if (num_lost > 0) {
    const std::string note = fmt::format("\n[standard error: {} messages before this one could not be written: {}]\n",
                                         num_lost, std::strerror(reason));
    if (!write_all(STDERR_FILENO, note)) {
      ++num_lost;
      return;
    }
    num_lost = 0;
  }
  if (write_all(STDERR_FILENO, text)) return;
  reason = errno;
  ++num_lost;
}

bool show(std::string_view text) {
  return std::fflush(stdout) == 0 && write_all(STDOUT_FILENO, text);
}

bool is_terminal(int descriptor) {
  const char* const term = std::getenv("TERM");
  return isatty(descriptor) != 0 && term != nullptr && std::string_view(term) != "dumb";
}
std::string dim(const std::string& text, int descriptor) {
  return styled("2", text, descriptor);
}
std::string bold(const std::string& text, int descriptor) {
  return styled("1", text, descriptor);
}

std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool c1 = byte == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F: some terminals obey them
    if (byte < 0x20 || byte == 0x7F || c1) {
      out += fmt::format("\\x{:02x}", c1 ? next : byte);
      i += c1 ? 1 : 0;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string format_bytes(int64_t bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000.0 && unit + 1 < std::size(units)) {
    value /= 1000.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

double ProgressLine::elapsed_seconds() const {
  return std::chrono::duration<double>(steady_clock::now() - start_).count();
}

void ProgressLine::show(const std::string& stage, int64_t bytes, int64_t total, double bytes_per_second,
                        std::optional<double> seconds_left) {
  std::string detail = fmt::format("{} {} / {}", stage, format_bytes(bytes), total > 0 ? format_bytes(total) : "?");
  if (bytes_per_second > 0) detail += fmt::format("  {}/s", format_bytes(static_cast<int64_t>(bytes_per_second)));
  if (seconds_left) detail += "  " + format_seconds(*seconds_left) + " left";
  draw(total > 0 ? static_cast<double>(bytes) / static_cast<double>(total) : 0.0, detail);
}

void ProgressLine::fraction(double done) {
  draw(done, "");
}

void ProgressLine::draw(double done, const std::string& detail) {
  const auto now = steady_clock::now();
  const bool terminal = is_terminal(STDERR_FILENO);
  const auto pause = terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000);
  if (elapsed_seconds() < 0.5 || now - std::max(drawn_, terminal ? drawn_ : start_) < pause) return;
  drawn_ = now;
  visible_ = true;
  constexpr int kWidth = 24;
  const int filled = static_cast<int>(std::clamp(done, 0.0, 1.0) * kWidth);
  const std::string bar = fmt::format("[{}{}] {:3.0f} %", std::string(static_cast<size_t>(filled), '#'),
                                      std::string(static_cast<size_t>(kWidth - filled), '.'), done * 100);
  say(fmt::format("{}{} {} {}{}", terminal ? "\r\x1b[K" : "", label_, bar, detail, terminal ? "" : "\n"));
}

void ProgressLine::finish() {
  if (visible_ && is_terminal(STDERR_FILENO)) say("\r\x1b[K");
  visible_ = false;
}

}  // namespace brio::cli
