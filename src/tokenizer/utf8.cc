#include "tokenizer/utf8.h"

#include <cstdint>
#include <cstring>

namespace brio::tokenizer {
namespace {

// What may follow a lead byte: number of continuation bytes, the range of the first of them (which excludes overlong
// forms, surrogates and values past U+10FFFF), and the lead's own bits. count 0: not a lead byte.
struct Lead {
  int count;
  uint8_t low, high;
  char32_t bits;
};

Lead classify(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF, byte & 0x1Fu};
  if (byte == 0xE0) return {2, 0xA0, 0xBF, 0};
  if (byte == 0xED) return {2, 0x80, 0x9F, 0xD};
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF, byte & 0xFu};
  if (byte == 0xF0) return {3, 0x90, 0xBF, 0};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF, byte & 0x7u};
  if (byte == 0xF4) return {3, 0x80, 0x8F, 4};
  return {0, 0, 0, 0};
}

}  // namespace

CodePoint decode_utf8(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(at) < 0x80) return {byte(at), 1, true, false};
  const Lead lead = classify(byte(at));
  if (lead.count == 0) return {kReplacement, 1, false, false};
  char32_t value = lead.bits;
  uint8_t low = lead.low, high = lead.high;
  for (size_t i = 1; i <= static_cast<size_t>(lead.count); ++i) {
    if (at + i == text.size()) return {kReplacement, i, false, true};
    if (byte(at + i) < low || byte(at + i) > high) return {kReplacement, i, false, false};
    value = value << 6 | (byte(at + i) & 0x3Fu);
    low = 0x80, high = 0xBF;
  }
  return {value, static_cast<size_t>(lead.count) + 1, true, false};
}

void append_utf8(std::string& out, char32_t value) {
  auto push = [&out](char32_t byte) { out.push_back(static_cast<char>(static_cast<uint8_t>(byte))); };
  if (value < 0x80) return push(value);
  if (value < 0x800) {
    push(0xC0 | value >> 6);
  } else {
    if (value < 0x10000) {
      push(0xE0 | value >> 12);
    } else {
      push(0xF0 | value >> 18);
      push(0x80 | (value >> 12 & 0x3F));
    }
    push(0x80 | (value >> 6 & 0x3F));
  }
  push(0x80 | (value & 0x3F));
}

bool is_valid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    while (i + 8 <= text.size()) {  // eight ASCII bytes at once: most text, and template text always
      uint64_t word;
      std::memcpy(&word, text.data() + i, 8);
      if (word & 0x8080808080808080u) break;
      i += 8;
    }
    if (i == text.size()) break;
    const CodePoint c = decode_utf8(text, i);
    if (!c.valid) return false;
    i += c.size;
  }
  return true;
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    if (c.valid) {
      out.append(text, i, c.size);
    } else {
      append_utf8(out, kReplacement);
    }
    i += c.size;
  }
  return out;
}

}  // namespace brio::tokenizer
