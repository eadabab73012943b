// CharSet: a set of Unicode scalar values (no surrogates) as sorted disjoint ranges. Plain data.
#pragma once

#include <cstdint>
#include <vector>

namespace brio::grammar {

struct CharRange {
  char32_t low = 0;
  char32_t high = 0;  // belongs to it
  bool operator==(const CharRange&) const = default;
};

class CharSet {
 public:
  CharSet() = default;
  CharSet(std::initializer_list<CharRange> ranges);
  static CharSet all() { return CharSet{{0, 0x10FFFF}}; }

  void add(char32_t low, char32_t high);  // surrogates are left out
  void add(char32_t one) { add(one, one); }
  void add(const CharSet& other);
  CharSet complement() const;
  CharSet intersect(const CharSet& other) const;
  CharSet without(const CharSet& other) const { return intersect(other.complement()); }
  bool has(char32_t value) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<CharRange>& ranges() const { return ranges_; }
  bool operator==(const CharSet&) const = default;

 private:
  void merge(char32_t low, char32_t high);
  std::vector<CharRange> ranges_;
};

// Letters, digits and spaces as ECMA-262 means them by \d, \w and \s; what its dot does not match.
const CharSet& digit_chars();
const CharSet& word_chars();
const CharSet& space_chars();
const CharSet& line_ends();

}  // namespace brio::grammar
