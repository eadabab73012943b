// The string operations that filters and methods share. Trust stays with each character.
#pragma once

#include <cstdint>
#include <vector>

#include "chat/text_builder.h"
#include "chat/unicode.h"
#include "chat/value.h"

namespace brio::chat {

Result<Value> change_case(Budget& budget, const Text& text, Case to);
Result<Value> capitalized(Budget& budget, const Text& text);   // first character in title case, the rest lower
Result<Value> titled(Budget& budget, const Text& text);        // str.title: every run of letters
Result<Value> titled_words(Budget& budget, const Text& text);  // filter title: words end at space - ( { [ <

enum class Side : uint8_t { kBoth, kLeft, kRight };
// Without the leading and trailing characters that are in `chars`, white space if null.
Result<Value> stripped(Budget& budget, const Text& text, const Text* chars, Side side);

// count < 0: all.
Result<Value> replaced(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t count);

// separator null: runs of white space. most < 0: no limit.
Result<Value> split_left(Budget& budget, const Text& text, const Text* separator, int64_t most);
Result<Value> split_right(Budget& budget, const Text& text, const Text* separator, int64_t most);
enum class LineEnds : uint8_t { kDrop, kKeep };
struct LineRange {
  size_t begin, end;  // bytes
};
struct Lines {
  std::vector<LineRange> ranges;
  MemoryCharge charge;
};
Result<Lines> split_lines(Budget& budget, const Text& text, LineEnds ends);

// Padded to `width` characters; align '<' (text first), '>' or '^' (both sides).
Result<Value> padded(Budget& budget, const Text& text, int64_t width, const Text& fill, char align);
bool all_in_case(const Text& text, Case wanted);  // str.isupper, str.islower: at least one cased character

Result<Value> joined(Budget& budget, const Text& separator, const std::vector<Value>& parts);  // parts printed by str()

}  // namespace brio::chat
