#include "grammar/char_set.h"

#include <algorithm>

namespace brio::grammar {
namespace {

constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kLastSurrogate = 0xDFFF;
constexpr char32_t kLast = 0x10FFFF;

}  // namespace

CharSet::CharSet(std::initializer_list<CharRange> ranges) {
  for (const CharRange& range : ranges) add(range.low, range.high);
}

void CharSet::add(char32_t low, char32_t high) {
  high = std::min(high, kLast);
  if (low < kFirstSurrogate) merge(low, std::min(high, char32_t{kFirstSurrogate - 1}));
  if (high > kLastSurrogate) merge(std::max(low, char32_t{kLastSurrogate + 1}), high);
}

void CharSet::merge(char32_t low, char32_t high) {
  if (low > high) return;
  auto first = std::find_if(ranges_.begin(), ranges_.end(), [&](const CharRange& r) { return r.high + 1 >= low; });
  auto last = first;
  for (; last != ranges_.end() && last->low <= high + 1; ++last) {
    low = std::min(low, last->low);
    high = std::max(high, last->high);
  }
  first = ranges_.erase(first, last);
  ranges_.insert(first, {low, high});
}

void CharSet::add(const CharSet& other) {
  for (const CharRange& range : other.ranges_) merge(range.low, range.high);
}

CharSet CharSet::complement() const {
  CharSet out;
  char32_t next = 0;
  for (const CharRange& range : ranges_) {
    if (range.low > next) out.add(next, range.low - 1);
    next = range.high + 1;
  }
  if (next <= kLast) out.add(next, kLast);
  return out;
}

CharSet CharSet::intersect(const CharSet& other) const {
  CharSet out;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const char32_t low = std::max(a->low, b->low);
    const char32_t high = std::min(a->high, b->high);
    if (low <= high) out.ranges_.push_back({low, high});
    a->high < b->high ? ++a : ++b;
  }
  return out;
}

bool CharSet::has(char32_t value) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const CharRange& r) { return r.low <= value && value <= r.high; });
}

const CharSet& digit_chars() {
  static const CharSet set{{'0', '9'}};
  return set;
}

const CharSet& word_chars() {
  static const CharSet set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return set;
}

// WhiteSpace and LineTerminator of ECMA-262, sections 12.2 and 12.3.
const CharSet& space_chars() {
  static const CharSet set{{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                           {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return set;
}

const CharSet& line_ends() {
  static const CharSet set{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return set;
}

}  // namespace brio::grammar
