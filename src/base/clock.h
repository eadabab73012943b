// Clock: where the engine reads time, so that tests can run it on a virtual one.
#pragma once

#include <chrono>

namespace brio {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const { return std::chrono::steady_clock::now(); }
  static const Clock& steady();
};

class VirtualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{};
};

inline const Clock& Clock::steady() {
  static const Clock clock;
  return clock;
}

inline double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
inline double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace brio
