// ProgressWatch: for how long calls have been under way without a step of the engine. Any thread.
//
//   watch.starting(calls, now);              // before each call
//   watch.stalled(calls, stats, now);        // when somebody asks; zero while there is nothing to do
//
// calls: under way, counted by the backend: the engine's own numbers are those of its last step.
#pragma once

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "engine/engine.h"

namespace brio::server {

class ProgressWatch {
 public:
  // waits: a static batch, which waits for its requests without steps.
  explicit ProgressWatch(bool waits) : waits_(waits) {}

  void starting(int64_t calls, TimePoint now) {
    std::lock_guard lock(mutex_);
    if (calls == 0) since_ = now;
  }
  Duration stalled(int64_t calls, const engine::EngineStats& stats, TimePoint now) {
    std::lock_guard lock(mutex_);
    const bool idle = calls == 0 || (waits_ && stats.running == 0);
    if (idle || stats.steps != steps_) since_ = now;
    steps_ = stats.steps;
    return std::max(now - since_, Duration{});
  }

 private:
  const bool waits_;
  std::mutex mutex_;
  TimePoint since_{};  // there has been no step, as far as anybody has looked
  int64_t steps_ = -1;
};

}  // namespace brio::server
