// Progress of a download: bytes, rate, time left, reported a few times a second.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"

namespace brio::hub {

struct Progress {
  std::string stage;            // "downloading", "verifying"
  int64_t bytes = 0;            // of the stage, resumed ones included
  int64_t total_bytes = 0;      // 0: unknown
  double bytes_per_second = 0;  // over the last seconds; 0: not known yet
  std::optional<double> seconds_left;
};

// Returns false to stop the download; what has arrived is kept for the next try.
using ProgressCallback = std::function<bool(const Progress&)>;

// Turns byte counts into Progress, at most five a second.
class ProgressMeter {
 public:
  ProgressMeter(ProgressCallback callback, std::string stage, int64_t start_bytes, int64_t total_bytes,
                const Clock& clock = Clock::steady());

  // False once the callback asked to stop. The last update (bytes == total) is always reported.
  bool update(int64_t bytes);

 private:
  ProgressCallback callback_;
  Progress progress_;
  const Clock& clock_;
  TimePoint last_report_;
  TimePoint window_start_;  // the rate is that since window_start_, which moves on every few seconds
  int64_t window_bytes_;
  TimePoint next_window_start_;
  int64_t next_window_bytes_;
  bool stopped_ = false;
};

}  // namespace brio::hub
