// Server-sent events: the framing of streamed answers (WHATWG HTML, section 9.2).
#pragma once

#include <string>
#include <string_view>

namespace brio::net {

inline constexpr std::string_view kSseContentType = "text/event-stream";

// One event. JSON holds no raw line breaks, but a payload of several lines stays one event all the same.
inline std::string sse_event(std::string_view data) {
  std::string out;
  out.reserve(data.size() + 8);
  for (size_t begin = 0;;) {
    const size_t end = data.find('\n', begin);
    out.append("data: ").append(data.substr(begin, end - begin)).push_back('\n');
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  out.push_back('\n');
  return out;
}

// A comment keeps proxies from closing a quiet stream; clients skip it.
inline std::string sse_comment(std::string_view text) {
  return std::string(": ").append(text).append("\n\n");
}

}  // namespace brio::net
