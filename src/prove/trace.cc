#include "prove/trace.h"

#include <algorithm>

#include "base/hash.h"

namespace brio::prove {

void Trace::begin_step(std::span<const ops::Row> rows) {
  rows_.assign(rows.begin(), rows.end());
  step_.clear();
  step_values_.clear();
  layer_ = kNoLayer;
  operation_ = 0;
}

int Trace::next_operation(const std::string& name) {
  if (operation_ == static_cast<int>(operations_.size())) operations_.push_back({layer_, name});
  return operation_++;
}

void Trace::keep(int operation, int row, std::span<const float> values) {
  step_.push_back({row, operation, hash_bytes({reinterpret_cast<const char*>(values.data()), values.size_bytes()})});
  if (watched_ && watched_->operation == operation && watched_->position == rows_[static_cast<size_t>(row)].position) {
    step_values_.emplace_back(row, std::vector<float>(values.begin(), values.end()));
  }
}

void Trace::end_step(int sequence) {
  for (const Kept& kept : step_) {
    const ops::Row& row = rows_[static_cast<size_t>(kept.row)];
    if (row.sequence == sequence) hashes_[{row.position, kept.operation}] = kept.hash;
  }
  for (auto& [row, values] : step_values_) {
    if (rows_[static_cast<size_t>(row)].sequence == sequence) watched_values_ = std::move(values);
  }
  step_.clear();
  step_values_.clear();
}

std::optional<Place> Trace::first_difference(const Trace& a, const Trace& b) {
  for (const auto& [place, hash] : a.hashes_) {  // ascending
    const auto other = b.hashes_.find(place);
    if (other != b.hashes_.end() && other->second != hash) return place;
  }
  return std::nullopt;
}

}  // namespace brio::prove
