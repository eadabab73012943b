#include "chat/text.h"

#include <algorithm>

#include "chat/unicode.h"

namespace brio::chat {

size_t Text::length() const {
  if (ascii_) return bytes_.size();
  size_t count = 0;
  for (size_t at = 0; at < bytes_.size(); at += character_bytes(bytes_, at)) ++count;
  return count;
}

size_t Text::offset(size_t index) const {
  if (ascii_) return std::min(index, bytes_.size());
  size_t at = 0;
  for (; index > 0 && at < bytes_.size(); --index) at += character_bytes(bytes_, at);
  return at;
}

bool Text::trusted(size_t offset) const {
  const auto run = std::ranges::upper_bound(runs_, offset, {}, &Run::end);
  return run != runs_.end() && run->trusted;
}

void Text::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (ascii_) ascii_ = std::ranges::all_of(bytes, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  bytes_.append(bytes);
  if (runs_.empty() || runs_.back().trusted != trusted) {
    runs_.push_back({bytes_.size(), trusted});
  } else {
    runs_.back().end = bytes_.size();
  }
}

void Text::append(const Text& from, size_t begin, size_t end) {
  auto run = std::ranges::upper_bound(from.runs_, begin, {}, &Run::end);
  while (begin < end) {
    const size_t stop = std::min(end, run->end);
    append(std::string_view(from.bytes_).substr(begin, stop - begin), run->trusted);
    begin = stop;
    ++run;
  }
}

Text Text::slice(size_t begin, size_t end) const {
  Text part;
  part.append(*this, begin, end);
  return part;
}

}  // namespace brio::chat
