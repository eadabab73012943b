#include "hub/progress.h"

#include <utility>

namespace brio::hub {
namespace {

constexpr Duration kReportEvery = std::chrono::milliseconds(200);
constexpr Duration kWindow = std::chrono::seconds(10);  // the rate covers the last ten to twenty seconds
constexpr double kLongestEstimate = 100 * 3600;         // a stalled source: any number would mislead

}  // namespace

ProgressMeter::ProgressMeter(ProgressCallback callback, std::string stage, int64_t start_bytes, int64_t total_bytes,
                             const Clock& clock)
    : callback_(std::move(callback)),
      clock_(clock),
      last_report_(clock.now() - kReportEvery),
      window_start_(clock.now()),
      window_bytes_(start_bytes),
      next_window_start_(window_start_),
      next_window_bytes_(start_bytes) {
  progress_.stage = std::move(stage);
  progress_.total_bytes = total_bytes;
}

bool ProgressMeter::update(int64_t bytes) {
  if (!callback_ || stopped_) return !stopped_;
  const TimePoint now = clock_.now();
  const bool finished = progress_.total_bytes > 0 && bytes >= progress_.total_bytes;
  if (now - last_report_ < kReportEvery && !finished) return true;
  last_report_ = now;
  if (bytes < window_bytes_) window_bytes_ = next_window_bytes_ = bytes;  // a source that could not be resumed
  if (now - next_window_start_ >= kWindow) {
    window_start_ = next_window_start_;
    window_bytes_ = next_window_bytes_;
    next_window_start_ = now;
    next_window_bytes_ = bytes;
  }
  const double seconds = to_seconds(now - window_start_);
  progress_.bytes = bytes;
  progress_.bytes_per_second = seconds > 0 ? static_cast<double>(bytes - window_bytes_) / seconds : 0;
  progress_.seconds_left.reset();
  if (progress_.bytes_per_second > 0 && progress_.total_bytes > 0) {
    const double seconds_left = static_cast<double>(progress_.total_bytes - bytes) / progress_.bytes_per_second;
    if (seconds_left < kLongestEstimate) progress_.seconds_left = seconds_left;
  }
  stopped_ = !callback_(progress_);
  return !stopped_;
}

}  // namespace brio::hub
