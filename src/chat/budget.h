// Budget: what one rendering may still spend. Steps, memory alive, nesting and wall time, from RenderLimits.
// Everything a template can make larger or longer asks here first. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "chat/template.h"

namespace brio::chat {

// An error of the template or of the values it was given.
template <typename... Args>
Error render_error(fmt::format_string<Args...> format, Args&&... args) {
  return error(ErrorCode::kInvalidArgument, format, std::forward<Args>(args)...);
}

class Budget {
 public:
  explicit Budget(const RenderLimits& limits);
  const RenderLimits& limits() const { return limits_; }

  Result<void> spend(int64_t steps) {
    steps_ += steps;
    if (steps_ < next_check_) return {};
    return check();
  }
  Result<void> spend_bytes(size_t bytes) { return spend(static_cast<int64_t>(bytes / kBytesPerStep) + 1); }

  size_t memory_left() const { return limits_.max_memory_bytes - memory_bytes_; }
  Error out_of_memory() const;
  Error too_deep() const;

 private:
  friend class MemoryCharge;
  friend class DepthGuard;
  static constexpr size_t kBytesPerStep = 128;  // copying them costs less than a step, looking at each a few steps
  Result<void> check();

  RenderLimits limits_;
  std::chrono::steady_clock::time_point deadline_;
  int64_t steps_ = 0;
  int64_t next_check_ = 0;
  size_t memory_bytes_ = 0;
  int depth_ = 0;
};

// Memory held by one value, given back when it dies. Take checks the limit.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  MemoryCharge(MemoryCharge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&&) = delete;
  ~MemoryCharge() {
    if (budget_ != nullptr) budget_->memory_bytes_ -= bytes_;
  }
  static Result<MemoryCharge> take(Budget& budget, size_t bytes);
  bool grow(Budget& budget, size_t bytes);  // by that much; false: there is not enough

 private:
  Budget* budget_ = nullptr;
  size_t bytes_ = 0;
};

// One level of nested evaluation, for as long as it lives.
class DepthGuard {
 public:
  explicit DepthGuard(Budget& budget) : budget_(budget) { ++budget_.depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  ~DepthGuard() { --budget_.depth_; }
  bool ok() const { return budget_.depth_ <= budget_.limits_.max_depth; }

 private:
  Budget& budget_;
};

#define BRIO_CHAT_ENTER(budget)         \
  const DepthGuard depth_guard(budget); \
  if (!depth_guard.ok()) return (budget).too_deep()

}  // namespace brio::chat
