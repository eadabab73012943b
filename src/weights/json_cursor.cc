#include "weights/json_cursor.h"

namespace brio::weights {
namespace {

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 63));
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  }
}

}  // namespace

void JsonCursor::skip_space() {
  while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\r' ||
                                      text_[position_] == '\t')) {
    ++position_;
  }
}

Error JsonCursor::unexpected(std::string_view wanted) const {
  if (position_ >= text_.size())
    return error(ErrorCode::kInvalidFile, "the header ends at byte {} before {}", offset(), wanted);
  return error(ErrorCode::kInvalidFile, "byte {} is {:#04x}, expected {}", offset(),
               static_cast<unsigned char>(text_[position_]), wanted);
}

bool JsonCursor::at(char c) {
  skip_space();
  return position_ < text_.size() && text_[position_] == c;
}

bool JsonCursor::accept(char c) {
  if (!at(c)) return false;
  ++position_;
  return true;
}

Result<void> JsonCursor::expect(char c) {
  if (accept(c)) return {};
  return unexpected(fmt::format("'{}'", c));
}

Result<void> JsonCursor::expect_end() {
  skip_space();
  if (position_ == text_.size()) return {};
  return unexpected("the end");
}

Result<std::string> JsonCursor::string() {
  BRIO_TRY_OK(expect('"'));
  std::string out;
  while (position_ < text_.size() && text_[position_] != '"') {
    const char c = text_[position_];
    if (static_cast<unsigned char>(c) < 0x20) return unexpected("a string without control characters");
    ++position_;
    if (c != '\\') {
      out += c;
    } else {
      BRIO_TRY_OK(escape(out));
    }
  }
  BRIO_TRY_OK(expect('"'));
  return out;
}

Result<void> JsonCursor::escape(std::string& out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char letter = position_ < text_.size() ? text_[position_] : '\0';
  if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
    out += kMeanings[known];
    ++position_;
    return {};
  }
  if (letter != 'u') return unexpected("an escape");
  ++position_;
  BRIO_TRY(uint32_t code, hex4());
  if (code >= 0xDC00 && code < 0xE000) return unexpected("a high surrogate first");
  if (code >= 0xD800 && code < 0xDC00) {
    if (text_.substr(position_, 2) != "\\u") return unexpected("a low surrogate");
    position_ += 2;
    BRIO_TRY(uint32_t low, hex4());
    if (low < 0xDC00 || low >= 0xE000) return unexpected("a low surrogate");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(out, code);
  return {};
}

Result<uint32_t> JsonCursor::hex4() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = position_ < text_.size() ? text_[position_] : '\0';
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value * 16 + static_cast<uint32_t>(lower - 'a' + 10);
    } else {
      return unexpected("four hexadecimal digits");
    }
    ++position_;
  }
  return value;
}

Result<uint64_t> JsonCursor::natural() {
  skip_space();
  const size_t start = position_;
  uint64_t value = 0;
  while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
    const auto digit = static_cast<uint64_t>(text_[position_] - '0');
    if (value > (static_cast<uint64_t>(INT64_MAX) - digit) / 10) {
      return error(ErrorCode::kInvalidFile, "the number at byte {} is beyond 2^63", base_ + start);
    }
    value = value * 10 + digit;
    ++position_;
  }
  if (position_ == start) return unexpected("a number without sign");
  if (text_[start] == '0' && position_ - start > 1) {
    return error(ErrorCode::kInvalidFile, "the number at byte {} starts with 0", base_ + start);
  }
  return value;
}

}  // namespace brio::weights
