// ByteSet: a set of byte values. Plain data.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace brio::grammar {

struct ByteSet {
  std::array<uint64_t, 4> words{};

  static ByteSet range(int low, int high) {  // both ends belong to it
    ByteSet set;
    for (int byte = low; byte <= high; ++byte) set.add(byte);
    return set;
  }
  void add(int byte) { words[static_cast<size_t>(byte) >> 6] |= uint64_t{1} << (byte & 63); }
  bool has(int byte) const { return (words[static_cast<size_t>(byte) >> 6] >> (byte & 63) & 1) != 0; }
  bool empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
  void add(const ByteSet& other) {
    for (size_t i = 0; i < words.size(); ++i) words[i] |= other.words[i];
  }
  bool meets(const ByteSet& other) const {
    return ((words[0] & other.words[0]) | (words[1] & other.words[1]) | (words[2] & other.words[2]) |
            (words[3] & other.words[3])) != 0;
  }
  auto operator<=>(const ByteSet&) const = default;
};

}  // namespace brio::grammar
