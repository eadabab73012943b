#include "api/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace brio::api {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Utf8Step {
  size_t length = 1;  // bytes to take
  bool valid = false;
};

// The character at the front, or the longest prefix of one that cannot be completed (Unicode 15, table 3-7).
Utf8Step next_character(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {1, true};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  // The second byte has a narrower range after these leads: no overlong forms, surrogates, or beyond U+10FFFF.
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (size_t i = 1; i < length; ++i) {
    if (i >= bytes.size() || at(i) < low || at(i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<uint8_t>(c));
  } else {
    out.push_back(c);
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.reserve(out.size() + text.size() + 2);
  out.push_back('"');
  while (!text.empty()) {
    const Utf8Step step = next_character(text);
    if (!step.valid) {
      out += kReplacement;
    } else if (step.length == 1) {
      append_ascii(out, text[0]);
    } else {
      out.append(text.substr(0, step.length));
    }
    text.remove_prefix(step.length);
  }
  out.push_back('"');
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

void append_json_number(std::string& out, float number) {
  constexpr float kLargest = 9999.0F;  // what other servers send for log 0
  if (std::isnan(number)) {
    out += "null";
    return;
  }
  if (std::isinf(number)) number = number > 0 ? kLargest : -kLargest;
  fmt::format_to(std::back_inserter(out), "{}", number);
}

int count_characters(std::string_view bytes) {
  int count = 0;
  for (char c : bytes) count += (static_cast<uint8_t>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = next_character(bytes);
    if (!step.valid) return false;
    bytes.remove_prefix(step.length);
  }
  return true;
}

}  // namespace brio::api
