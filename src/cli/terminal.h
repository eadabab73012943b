// What the commands show on a terminal: colours only where there is one, and a progress line for anything slow.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brio::cli {

bool is_terminal(int descriptor);                          // that understands control sequences
std::string dim(const std::string& text, int descriptor);  // grey on a terminal, unchanged elsewhere and with NO_COLOR
std::string bold(const std::string& text, int descriptor);

// Writes to standard error whatever becomes of it: a full disk or a closed pipe must not end the work. What could not be
// written is counted, and the next text that can be says how much was lost. Any thread.
void say(std::string_view text);
// The same for standard output, at once; false when it could not be written (nothing of it stays behind).
bool show(std::string_view text);

// Text from files and peers, safe to show: control characters are written as \xNN.
std::string printable(std::string_view text);

std::string format_bytes(int64_t bytes);  // "98.4 MB"

// A line on standard error that is redrawn in place on a terminal: label, bar, share, rate, time left. Elsewhere it
// prints a plain line every ten seconds. Appears only once the work has taken half a second.
class ProgressLine {
 public:
  explicit ProgressLine(std::string label) : label_(std::move(label)) {}
  ~ProgressLine() { finish(); }
  void fraction(double done);  // 0 to 1
  // Of a download's stage; total 0 and rate 0: unknown.
  void show(const std::string& stage, int64_t bytes, int64_t total, double bytes_per_second,
            std::optional<double> seconds_left);
  void at_once() { start_ -= std::chrono::seconds(1); }  // this will be slow: do not wait to see
  void finish();                                         // clears the line

 private:
  void draw(double done, const std::string& detail);
  double elapsed_seconds() const;

  std::string label_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point drawn_{};
  bool visible_ = false;
};

}  // namespace brio::cli
