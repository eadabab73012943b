// Server-sent events: the framing of streamed answers (WHATWG HTML, section 9.2).
#pragma once

#include <string>
#include <string_view>

namespace brio::net {

inline constexpr std::string_view kSseContentType = "text/event-stream";

// One event, with a name or without. JSON holds no raw line breaks, but a payload of several lines stays one event all
// the same.
inline std::string sse_event(std::string_view data, std::string_view name = {}) {
  std::string out;
  out.reserve(data.size() + name.size() + 16);
  if (!name.empty()) out.append("event: ").append(name).push_back('\n');
  for (size_t begin = 0;;) {
    const size_t end = data.find('\n', begin);
    out.append("data: ").append(data.substr(begin, end - begin)).push_back('\n');
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  out.push_back('\n');
  return out;
}

// A comment keeps proxies from closing a quiet stream; clients skip it. One line break only: weak decoders take an empty
// line for the end of an empty event.
inline std::string sse_comment(std::string_view text) {
  return std::string(": ").append(text).append("\n");
}

}  // namespace brio::net
