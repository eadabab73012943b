// UTF-8 as this module needs it: one decoder with the Unicode standard's rule for broken input (table 3-8: one U+FFFD
// per maximal valid prefix, what Python's errors="replace" and browsers do), an encoder, and repair. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace brio::tokenizer {

inline constexpr char32_t kReplacement = 0xFFFD;

struct CodePoint {
  char32_t value;   // kReplacement where the bytes are not a character
  size_t size;      // bytes consumed, at least 1
  bool valid;       // false: broken or cut off
  bool incomplete;  // broken only because the text ends here; more bytes could complete it
};

CodePoint decode_utf8(std::string_view text, size_t at);  // at < text.size()
void append_utf8(std::string& out, char32_t value);       // value is a scalar value
bool is_valid_utf8(std::string_view text);
std::string repair_utf8(std::string_view text);  // broken bytes replaced by U+FFFD

}  // namespace brio::tokenizer
