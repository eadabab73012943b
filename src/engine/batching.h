// Batching: when waiting requests may join. Three real policies, so that they can be compared (Orca, Yu et al. 2022):
//   static       waits for `size` requests (or a drain), runs them to the end of the longest; nobody joins meanwhile
//   dynamic      the same, but starts with fewer once the oldest has waited for `max_wait`
//   continuous   joins at every step that has room
// The scheduler asks at every step. Preempted sequences belong to their batch already and are not asked about.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace brio::engine {

enum class BatchingMode : uint8_t { kStatic, kDynamic, kContinuous };
Result<BatchingMode> parse_batching(std::string_view text);  // "static", "dynamic", "continuous"
std::string_view name(BatchingMode mode);

struct BatchingOptions {
  BatchingMode mode = BatchingMode::kContinuous;
  int size = 8;                                       // static, dynamic
  Duration max_wait = std::chrono::milliseconds(50);  // dynamic
};

class BatchPolicy {
 public:
  // What a policy may know of the queue.
  struct Queue {
    int waiting = 0;        // requests
    int running = 0;        // sequences, preempted ones included
    TimePoint oldest{};     // when the first of the waiting was queued
    bool draining = false;  // nothing more will come
  };
  virtual ~BatchPolicy() = default;
  // How many requests may be admitted in this step.
  virtual int admissions(const Queue& queue, TimePoint now) = 0;
  // How many of them were.
  virtual void admitted(int /*count*/) {}
  // Whether requests are admitted although the step's row budget is used up (a batch starts as a whole).
  virtual bool starts_whole() const = 0;
  // When admissions() may change without any event; absent: never.
  virtual std::optional<TimePoint> deadline(const Queue& queue) const = 0;
};

std::unique_ptr<BatchPolicy> make_batch_policy(const BatchingOptions& options);

}  // namespace brio::engine
