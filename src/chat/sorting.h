// sort_values: a stable sort whose comparison can fail (Python objects without order) and counts steps.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "chat/operators.h"
#include "chat/value.h"

namespace brio::chat {

// The order of indices that sorts keys, lowest first or highest first; equal keys keep their order either way. O(n log
// n).
enum class Order { kAscending, kDescending };
Result<std::vector<size_t>> sorted_order(Budget& budget, const std::vector<Value>& keys, Order order);

template <typename T, typename KeyOf>
Result<void> sort_values(Budget& budget, std::vector<T>& values, KeyOf key_of, Order order = Order::kAscending) {
  std::vector<Value> keys;
  keys.reserve(values.size());
  for (const T& value : values) keys.push_back(key_of(value));
  BRIO_TRY(const std::vector<size_t> indices, sorted_order(budget, keys, order));
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (const size_t index : indices) sorted.push_back(std::move(values[index]));
  values = std::move(sorted);
  return {};
}

}  // namespace brio::chat
