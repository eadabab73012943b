#include "chat/budget.h"

#include <algorithm>

namespace brio::chat {
namespace {

constexpr int64_t kStepsBetweenClockReads = 4096;  // about 0.3 ms of work against a clock read of 30 ns

}  // namespace

Budget::Budget(const RenderLimits& limits)
    : limits_(limits), deadline_(std::chrono::steady_clock::now() + limits.max_time) {}

Result<void> Budget::check() {
  if (steps_ > limits_.max_steps) {
    return render_error("the chat template takes more than {} steps", limits_.max_steps);
  }
  if (std::chrono::steady_clock::now() > deadline_) {
    return render_error("the chat template takes longer than {} ms", limits_.max_time.count());
  }
  next_check_ = std::min(steps_ + kStepsBetweenClockReads, limits_.max_steps + 1);
  return {};
}

Error Budget::out_of_memory() const {
  return render_error("the chat template needs more than {} bytes of memory", limits_.max_memory_bytes);
}

Error Budget::too_deep() const {
  return render_error("the chat template nests calls, expressions or lists deeper than {}", limits_.max_depth);
}

Result<MemoryCharge> MemoryCharge::take(Budget& budget, size_t bytes) {
  MemoryCharge charge;
  if (!charge.grow(budget, bytes)) return budget.out_of_memory();
  return charge;
}

bool MemoryCharge::grow(Budget& budget, size_t bytes) {
  if (bytes > budget.memory_left()) return false;
  budget.memory_bytes_ += bytes;
  bytes_ += bytes;
  budget_ = &budget;
  return true;
}

}  // namespace brio::chat
