// PairTable: two ids to two numbers, open addressing, sized once: merge rules, trie edges. Built by one thread, read by
// any.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace brio::tokenizer {

class PairTable {
 public:
  struct Entry {
    uint64_t key = kEmpty;
    int32_t rank = 0;
    int32_t id = 0;
  };

  void reserve(size_t num_pairs) {
    entries_.assign(std::bit_ceil(num_pairs * 2 + 2), Entry{});  // at most half full
    shift_ = 64 - std::countr_zero(entries_.size());
  }

  // The first entry of a pair stays. At most as many inserts as were reserved.
  void insert(int32_t left, int32_t right, int32_t rank, int32_t id) {
    Entry& entry = entries_[slot(key(left, right))];
    if (entry.key == kEmpty) entry = {key(left, right), rank, id};
  }

  const Entry* find(int32_t left, int32_t right) const {  // null: no such pair
    if (entries_.empty()) return nullptr;
    const Entry& entry = entries_[slot(key(left, right))];
    return entry.key == kEmpty ? nullptr : &entry;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};  // ids are never negative, so no pair has this key
  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot(uint64_t key) const {
    size_t i =
        static_cast<size_t>(key * 0x9E3779B97F4A7C15u >> shift_);  // Fibonacci hashing: the top bits are mixed best
    while (entries_[i].key != key && entries_[i].key != kEmpty) i = (i + 1) & (entries_.size() - 1);
    return i;
  }
  std::vector<Entry> entries_;
  int shift_ = 64;
};

}  // namespace brio::tokenizer
