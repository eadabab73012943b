#include "chat/partial_reader.h"

#include "chat/json_scanner.h"

namespace brio::chat {

void PartialReader::skip_space() {
  while (!at_end() && std::string_view(" \n\r\t").find(text_[at_]) != std::string_view::npos) ++at_;
}

Match PartialReader::literal(std::string_view wanted) {
  const std::string_view have = rest();
  if (have.starts_with(wanted)) {
    at_ += wanted.size();
    return Match::kYes;
  }
  return wanted.starts_with(have) ? Match::kShort : Match::kNo;
}

Match PartialReader::word(std::string_view ends, std::string_view& out) {
  const size_t begin = at_;
  while (!at_end() && ends.find(text_[at_]) == std::string_view::npos) {
    const char c = text_[at_];
    if (static_cast<uint8_t>(c) <= 0x20 || c == 0x7F || c == '"') return Match::kNo;
    ++at_;
  }
  if (at_end()) return Match::kShort;
  out = text_.substr(begin, at_ - begin);
  return out.empty() ? Match::kNo : Match::kYes;
}

Match PartialReader::string(std::string_view& out) {
  if (at_end()) return Match::kShort;
  if (text_[at_] != '"') return Match::kNo;
  const size_t begin = ++at_;
  for (; !at_end(); ++at_) {
    if (text_[at_] == '"') {
      out = text_.substr(begin, at_ - begin);
      ++at_;
      return Match::kYes;
    }
    if (text_[at_] == '\\' && ++at_ == text_.size()) return Match::kShort;
  }
  return Match::kShort;
}

Match PartialReader::value() {
  if (at_end()) return Match::kShort;
  std::string_view ignored;
  if (text_[at_] == '"') return string(ignored);
  if (text_[at_] != '{' && text_[at_] != '[') return word(",}] \n\r\t", ignored);
  JsonScanner scanner;
  for (; !at_end(); ++at_) {
    const JsonScanner::Step step = scanner.feed(text_[at_]);
    if (step == JsonScanner::Step::kBad) return Match::kNo;
    if (step == JsonScanner::Step::kEnd) {
      ++at_;
      return Match::kYes;
    }
  }
  return Match::kShort;
}

}  // namespace brio::chat
