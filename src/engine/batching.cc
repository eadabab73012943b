#include "engine/batching.h"

namespace brio::engine {
namespace {

class StaticBatching final : public BatchPolicy {
 public:
  explicit StaticBatching(int size) : size_(size) {}
  int admissions(const Queue& queue, TimePoint /*now*/) override {
    return queue.running == 0 && (queue.waiting >= size_ || queue.draining) ? size_ : 0;
  }
  bool starts_whole() const override { return true; }
  std::optional<TimePoint> deadline(const Queue& /*queue*/) const override { return std::nullopt; }

 private:
  int size_;
};

class DynamicBatching final : public BatchPolicy {
 public:
  DynamicBatching(int size, Duration max_wait) : size_(size), max_wait_(max_wait) {}
  int admissions(const Queue& queue, TimePoint now) override {
    const bool due = queue.waiting >= size_ || queue.draining || (queue.waiting > 0 && now >= queue.oldest + max_wait_);
    return queue.running == 0 && due ? size_ : 0;
  }
  bool starts_whole() const override { return true; }
  std::optional<TimePoint> deadline(const Queue& queue) const override {
    if (queue.running > 0 || queue.waiting == 0) return std::nullopt;
    return queue.oldest + max_wait_;
  }

 private:
  int size_;
  Duration max_wait_;
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
    case BatchingMode::kStatic: return "static";
    case BatchingMode::kDynamic: return "dynamic";
    case BatchingMode::kContinuous: return "continuous";
  }
  return "continuous";
}

std::unique_ptr<BatchPolicy> make_batch_policy(const BatchingOptions& options) {
  switch (options.mode) {
    case BatchingMode::kStatic: return std::make_unique<StaticBatching>(options.size);
    case BatchingMode::kDynamic: return std::make_unique<DynamicBatching>(options.size, options.max_wait);
    case BatchingMode::kContinuous: break;
  }
  return std::make_unique<ContinuousBatching>();
}

}  // namespace brio::engine
