#include "chat/string_literal.h"

#include <charconv>

#include "chat/unicode.h"

namespace brio::chat {
namespace {

constexpr std::string_view kSimple = "\\'\"abfnrtv";
constexpr std::string_view kMeaning = "\\'\"\a\b\f\n\r\t\v";

// Exactly `count` hex digits at the front of text.
bool hex_escape(std::string_view text, size_t count, std::string& out) {
  uint32_t character = 0;
  if (text.size() < count) return false;
  const auto parsed = std::from_chars(text.data(), text.data() + count, character, 16);
  if (parsed.ptr != text.data() + count || character > 0x10FFFF) return false;
  if (character >= 0xD800 && character <= 0xDFFF) return false;  // half a pair: no UTF-8 for it
  append_character(out, character);
  return true;
}

size_t octal_escape(std::string_view text, std::string& out) {
  uint32_t character = 0;
  size_t used = 0;
  while (used < 3 && used < text.size() && text[used] >= '0' && text[used] <= '7') {
    character = character * 8 + static_cast<uint32_t>(text[used++] - '0');
  }
  append_character(out, character);
  return used;
}

}  // namespace

bool unescape(std::string_view literal, std::string& out, size_t& bad) {
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 >= literal.size()) {
      out += literal[i];
      continue;
    }
    bad = i;
    const char escape = literal[++i];
    const std::string_view rest = literal.substr(i + 1);
    if (const size_t simple = kSimple.find(escape); simple != std::string_view::npos) {
      out += kMeaning[simple];
    } else if (escape == 'x' || escape == 'u' || escape == 'U') {
      const size_t count = escape == 'x' ? 2 : escape == 'u' ? 4 : 8;
      if (!hex_escape(rest, count, out)) return false;
      i += count;
    } else if (escape >= '0' && escape <= '7') {
      i += octal_escape(literal.substr(i), out) - 1;
    } else if (escape == 'N') {
      return false;
    } else if (escape != '\n') {
      out += '\\';
      out += escape;
    }
  }
  return true;
}

}  // namespace brio::chat
