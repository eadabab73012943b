// TokenMap: text to token id, open addressing, sized once. The text is not copied: it must outlive the map. Built by
// one thread, then read by any. A 262,144-token vocabulary takes about 10 ms, a look-up one or two cache misses.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace brio::tokenizer {

inline uint64_t hash_text(std::string_view text) {
  // Multiply-fold over 8-byte words (as in wyhash): short keys cost one multiplication per word.
  constexpr uint64_t kOdd1 = 0x9E3779B97F4A7C15u, kOdd2 = 0xD6E8FEB86659FD93u;  // golden ratio; any odd mixer
  uint64_t h = text.size() * kOdd1;
  const char* p = text.data();
  size_t left = text.size();
  while (left > 0) {
    uint64_t word = 0;
    const size_t n = left < 8 ? left : 8;
    std::memcpy(&word, p, n);
    h = (h ^ word) * kOdd2;
    h ^= h >> 32;
    p += n;
    left -= n;
  }
  return h * kOdd1;
}

class TokenMap {
 public:
  void reserve(size_t num_tokens) {
    slots_.assign(std::bit_ceil(num_tokens * 2 + 2), Slot{});  // at most half full: probes stay short
    mask_ = slots_.size() - 1;
  }

  // The first id of a text stays. At most as many inserts as were reserved.
  void insert(std::string_view text, int32_t id) {
    const uint64_t hash = hash_text(text);
    for (size_t i = hash >> 32;; ++i) {
      Slot& slot = slots_[i & mask_];
      if (slot.id < 0) {
        slot = {text.data(), static_cast<uint32_t>(text.size()), id};
        return;
      }
      if (slot.matches(text)) return;
    }
  }

  int32_t find(std::string_view text) const {  // -1: no such token
    if (slots_.empty()) return -1;
    for (size_t i = hash_text(text) >> 32;; ++i) {
      const Slot& slot = slots_[i & mask_];
      if (slot.id < 0) return -1;
      if (slot.matches(text)) return slot.id;
    }
  }

 private:
  struct Slot {
    const char* data = nullptr;
    uint32_t size = 0;
    int32_t id = -1;
    bool matches(std::string_view text) const {
      return size == text.size() && std::memcmp(data, text.data(), size) == 0;
    }
  };
  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

}  // namespace brio::tokenizer
