// Code points of UTF-8 text and the properties of characters that Python's str methods rely on.
// Bytes that are not UTF-8 count as one character each and pass through unchanged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace brio::chat {

size_t character_bytes(std::string_view text, size_t offset);  // 1..4, at most what is left
size_t character_start(std::string_view text, size_t end);     // offset of the character that ends at `end` (> 0)
char32_t character_at(std::string_view text, size_t offset);   // invalid byte b: U+DC00 + b, as surrogateescape
void append_character(std::string& out, char32_t character);   // the inverse, surrogateescape included

bool is_space(char32_t c);      // str.isspace: what strip() and split() take away
bool is_printable(char32_t c);  // str.isprintable: what repr() leaves as it is
bool is_letter(char32_t c);     // str.isalpha
bool is_decimal(char32_t c);    // str.isdecimal
bool is_digit(char32_t c);      // str.isdigit: decimals and superscripts
bool is_numeric(char32_t c);    // str.isnumeric
bool is_line_end(char32_t c);   // where str.splitlines() splits
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_cased(char32_t c);  // upper, lower or title case

// One character, mapped; up to three characters come out (U+00DF in upper case is "SS").
enum class Case { kUpper, kLower, kTitle };
void append_in_case(std::string& out, char32_t c, Case to);

}  // namespace brio::chat
