// PartialReader: reads the front of text that is still arriving. Every read answers yes, no, or that the text ended
// before it could be told. After anything but yes the reader is of no more use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace brio::chat {

enum class Match : uint8_t { kYes, kNo, kShort };

class PartialReader {
 public:
  explicit PartialReader(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }  // bytes read
  std::string_view rest() const { return text_.substr(at_); }
  bool at_end() const { return at_ == text_.size(); }
  bool next_is(char c) const { return !at_end() && text_[at_] == c; }

  void skip(size_t bytes) { at_ += bytes; }
  void skip_space();
  Match literal(std::string_view wanted);
  // Bytes before the first of `ends`, at least one, none of them a control character, a blank or a quote.
  Match word(std::string_view ends, std::string_view& out);
  // A JSON string; out: what stands between the quotes, escapes as they are.
  Match string(std::string_view& out);
  Match value();  // any JSON value; numbers and literals are not checked

 private:
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace brio::chat
