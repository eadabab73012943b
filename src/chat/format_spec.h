// FormatSpec: how Python's % operator and str.format lay out one value: fill, alignment, sign, width, precision, type.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "chat/text_builder.h"
#include "chat/value.h"

namespace brio::chat {

struct FormatSpec {
  std::string fill = " ";  // one character
  char align = '\0';       // '<', '>', '^', '=' (padding between sign and digits); '\0': the type's own
  char sign = '-';         // '-': only if negative, '+', ' '
  bool alternate = false;  // '#': prefixes such as 0x
  char grouping = '\0';    // ',' or '_' every three digits
  int64_t width = 0;
  int64_t precision = -1;  // -1: the type's own
  char type = '\0';        // 'd', 'f', 's', ...; '\0': the value's own
};

// A decimal number at `at`, which moves behind it; error beyond a million, a width that nobody wants.
Result<int64_t> parse_size(std::string_view text, size_t& at);

// value as digits (types d i u x X o b e E f F g G % and none), laid out.
Result<void> format_number(TextBuilder& out, const Value& value, const FormatSpec& spec);
// text cut to the precision and padded to the width.
Result<void> format_text(TextBuilder& out, const Text& text, const FormatSpec& spec);

}  // namespace brio::chat
