#include "chat/sorting.h"

#include <algorithm>
#include <numeric>

namespace brio::chat {
namespace {

// Merges the sorted halves [begin, middle) and [middle, end) of indices.
Result<void> merge(Budget& budget, const std::vector<Value>& keys, Order order, std::vector<size_t>& indices,
                   std::vector<size_t>& scratch, size_t begin, size_t middle, size_t end) {
  size_t left = begin;
  size_t right = middle;
  for (size_t out = begin; out < end; ++out) {
    bool take_right = left == middle;
    if (left < middle && right < end) {
      const Value& a = keys[indices[left]];
      const Value& b = keys[indices[right]];
      BRIO_TRY(take_right, order == Order::kAscending ? less(budget, b, a) : less(budget, a, b));
    }
    scratch[out] = take_right ? indices[right++] : indices[left++];
  }
  std::copy(scratch.begin() + static_cast<std::ptrdiff_t>(begin), scratch.begin() + static_cast<std::ptrdiff_t>(end),
            indices.begin() + static_cast<std::ptrdiff_t>(begin));
  return {};
}

}  // namespace

Result<std::vector<size_t>> sorted_order(Budget& budget, const std::vector<Value>& keys, Order order) {
  std::vector<size_t> indices(keys.size());
  std::iota(indices.begin(), indices.end(), size_t{0});
  std::vector<size_t> scratch(keys.size());
  for (size_t width = 1; width < keys.size(); width *= 2) {
    for (size_t begin = 0; begin + width < keys.size(); begin += 2 * width) {
      const size_t end = std::min(begin + 2 * width, keys.size());
      BRIO_TRY_OK(merge(budget, keys, order, indices, scratch, begin, begin + width, end));
    }
  }
  return indices;
}

}  // namespace brio::chat
