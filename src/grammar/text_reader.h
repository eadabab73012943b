// TextReader: characters of a regex or a grammar with their offsets. Broken UTF-8 is an error of the caller's choice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "tokenizer/utf8.h"

namespace brio::grammar {

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  size_t offset() const { return at_; }
  bool done() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  bool take(std::string_view word) {
    if (!starts(word)) return false;
    at_ += word.size();
    return true;
  }
  std::optional<char32_t> character() {  // not at the end
    const tokenizer::CodePoint point = tokenizer::decode_utf8(text_, at_);
    if (!point.valid) return std::nullopt;
    at_ += point.size;
    return point.value;
  }
  std::optional<char32_t> hex(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = peek(static_cast<size_t>(i));
      const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (digit < 0) return std::nullopt;
      value = value * 16 + static_cast<char32_t>(digit);
    }
    at_ += static_cast<size_t>(digits);
    return value;
  }
  std::optional<int> number() {  // decimal; at most a million
    constexpr int kMax = 1'000'000;
    if (peek() < '0' || peek() > '9') return std::nullopt;
    int value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) value = value > kMax ? value : value * 10 + (peek() - '0');
    return value > kMax ? std::nullopt : std::optional<int>(value);
  }
  void skip(size_t bytes) { at_ = std::min(at_ + bytes, text_.size()); }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

inline bool is_scalar(char32_t value) {
  return value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
}

}  // namespace brio::grammar
