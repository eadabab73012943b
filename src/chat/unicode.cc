#include "chat/unicode.h"

#include <utf8proc.h>

#include <iterator>

namespace brio::chat {
namespace {

constexpr char32_t kEscapeBase = 0xDC00;  // Python's surrogateescape

bool continuation(std::string_view text, size_t offset) {
  return offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80;
}

utf8proc_category_t category(char32_t c) {
  if (c > 0x10FFFF) return UTF8PROC_CATEGORY_CN;
  return static_cast<utf8proc_category_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
}

// Characters whose case mapping is longer than one character, from Unicode's SpecialCasing (unconditional part without
// the Greek iota-subscript letters).
struct LongMapping {
  char32_t character;
  const char* upper;
  const char* title;
};
constexpr LongMapping kLongMappings[] = {
    {0x00DF, "SS", "Ss"},   {0x0149, "ʼN", "ʼN"}, {0x01F0, "J̌", "J̌"},   {0x0390, "Ϊ́", "Ϊ́"},   {0x03B0, "Ϋ́", "Ϋ́"},
    {0x0587, "ԵՒ", "Եւ"},   {0x1E96, "H̱", "H̱"},   {0x1E97, "T̈", "T̈"},   {0x1E98, "W̊", "W̊"},   {0x1E99, "Y̊", "Y̊"},
    {0x1E9A, "Aʾ", "Aʾ"},   {0xFB00, "FF", "Ff"}, {0xFB01, "FI", "Fi"}, {0xFB02, "FL", "Fl"}, {0xFB03, "FFI", "Ffi"},
    {0xFB04, "FFL", "Ffl"}, {0xFB05, "ST", "St"}, {0xFB06, "ST", "St"},
};

}  // namespace

size_t character_bytes(std::string_view text, size_t offset) {
  const auto lead = static_cast<unsigned char>(text[offset]);
  if (lead < 0xC2) return 1;
  const size_t wanted = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
  for (size_t i = 1; i < wanted; ++i) {
    if (!continuation(text, offset + i)) return 1;
  }
  if (wanted < 3) return wanted;
  const auto second = static_cast<unsigned char>(text[offset + 1]);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool outside = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || outside ? 1 : wanted;
}

size_t character_start(std::string_view text, size_t end) {
  for (size_t back = 2; back <= 4 && back <= end; ++back) {
    if (character_bytes(text.substr(0, end), end - back) == back) return end - back;
  }
  return end - 1;
}

char32_t character_at(std::string_view text, size_t offset) {
  const size_t bytes = character_bytes(text, offset);
  const auto lead = static_cast<unsigned char>(text[offset]);
  if (bytes == 1) return lead < 0x80 ? lead : kEscapeBase + lead;
  char32_t c = lead & (0x7F >> bytes);
  for (size_t i = 1; i < bytes; ++i) c = (c << 6) | (static_cast<unsigned char>(text[offset + i]) & 0x3F);
  return c;
}

void append_character(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c >= kEscapeBase + 0x80 && c <= kEscapeBase + 0xFF) {
    out += static_cast<char>(c - kEscapeBase);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_letter(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 || (c >= 0x2074 && c <= 0x2079) ||
         (c >= 0x2080 && c <= 0x2089) || (c >= 0x2460 && c <= 0x2468);
}

bool is_numeric(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_upper(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU;
}
bool is_lower(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA;
}
bool is_cased(char32_t c) {
  return is_upper(c) || is_lower(c) || category(c) == UTF8PROC_CATEGORY_LT;
}

void append_in_case(std::string& out, char32_t c, Case to) {
  if (c < 0x80) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool lower = c >= 'a' && c <= 'z';
    if (to == Case::kLower && upper) c += 32;
    if (to != Case::kLower && lower) c -= 32;
    out += static_cast<char>(c);
    return;
  }
  if (to == Case::kLower) {
    if (c == 0x130) {  // dotted capital I keeps its dot
      out += "i̇";
    } else {
      append_character(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
    return;
  }
  for (const LongMapping& mapping : kLongMappings) {
    if (mapping.character != c) continue;
    out += to == Case::kUpper ? mapping.upper : mapping.title;
    return;
  }
  const auto plain = static_cast<utf8proc_int32_t>(c);
  append_character(out, static_cast<char32_t>(to == Case::kUpper ? utf8proc_toupper(plain) : utf8proc_totitle(plain)));
}

}  // namespace brio::chat
