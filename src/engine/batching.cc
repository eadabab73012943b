#include "engine/batching.h"

#include <algorithm>

namespace brio::engine {
namespace {

// Static without max_wait, dynamic with it.
class WholeBatching final : public BatchPolicy {
 public:
  WholeBatching(int size, std::optional<Duration> max_wait) : size_(size), max_wait_(max_wait) {}

  int admissions(const Queue& queue, TimePoint now) override {
    if (queue.running > 0 || queue.waiting == 0) return 0;
    const std::optional<TimePoint> due = deadline(queue);
    if (queue.oldest > formed_) owed_ = 0;  // who was owed a place has left
    if (queue.waiting >= size_ || queue.draining || (due && now >= *due)) {
      owed_ = std::min(size_, queue.waiting);
      formed_ = now;
    }
    return owed_;
  }
  void admitted(int count) override { owed_ -= std::min(owed_, count); }
  bool starts_whole() const override { return true; }
  std::optional<TimePoint> deadline(const Queue& queue) const override {
    if (!max_wait_ || queue.running > 0 || queue.waiting == 0) return std::nullopt;
    return queue.oldest + *max_wait_;
  }

 private:
  int size_;
  std::optional<Duration> max_wait_;
  int owed_ = 0;        // members of a batch that found no room with the others: they are next, without a new wait
  TimePoint formed_{};  // when that batch was formed
};

class ContinuousBatching final : public BatchPolicy {
 public:
  int admissions(const Queue& queue, TimePoint /*now*/) override { return queue.waiting; }
  bool starts_whole() const override { return false; }
  std::optional<TimePoint> deadline(const Queue& /*queue*/) const override { return std::nullopt; }
};

}  // namespace

Result<BatchingMode> parse_batching(std::string_view text) {
  for (BatchingMode mode : {BatchingMode::kStatic, BatchingMode::kDynamic, BatchingMode::kContinuous}) {
    if (text == name(mode)) return mode;
  }
  return error(ErrorCode::kInvalidArgument, "batching '{}' is none of static, dynamic, continuous", text);
}

std::string_view name(BatchingMode mode) {
  switch (mode) {
    case BatchingMode::kStatic:
      return "static";
    case BatchingMode::kDynamic:
      return "dynamic";
    case BatchingMode::kContinuous:
      return "continuous";
  }
  return "continuous";
}

std::unique_ptr<BatchPolicy> make_batch_policy(const BatchingOptions& options) {
  switch (options.mode) {
    case BatchingMode::kStatic:
      return std::make_unique<WholeBatching>(options.size, std::nullopt);
    case BatchingMode::kDynamic:
      return std::make_unique<WholeBatching>(options.size, options.max_wait);
    case BatchingMode::kContinuous:
      break;
  }
  return std::make_unique<ContinuousBatching>();
}

}  // namespace brio::engine
