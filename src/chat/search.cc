#include "chat/search.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace brio::chat {

size_t find_bytes(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  // glibc's memmem is the two-way algorithm: linear, unlike std::string_view::find.
  const void* found = ::memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t find_last_bytes(std::string_view text, std::string_view needle, size_t end) {
  text = text.substr(0, end);
  if (needle.size() > text.size()) return std::string_view::npos;
  const std::string backwards(text.rbegin(), text.rend());
  const std::string wanted(needle.rbegin(), needle.rend());
  const size_t found = find_bytes(backwards, wanted, 0);
  return found == std::string_view::npos ? found : text.size() - found - needle.size();
}

}  // namespace brio::chat
