// Url: the parts of an absolute http or https address.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace brio::net {

struct Url {
  std::string scheme;    // "https" or "http", lower case
  std::string host;      // lower case; IPv6 without brackets
  std::string port;      // digits; the scheme's own if none was given
  std::string target;    // path and query, starts with '/'
  std::string fragment;  // without '#'

  bool same_origin(const Url& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
  bool is_loopback() const;  // this machine by name: localhost, 127.0.0.1, ::1
  std::string host_header() const;
  std::string text() const;  // without the fragment
};

// Refuses other schemes, user names, control characters and spaces; the message quotes what it refuses.
Result<Url> parse_url(std::string_view text);

// %XX as the byte it stands for; what is no such escape stays.
std::string percent_decoded(std::string_view text);

// A Location header: absolute, or relative to `base`.
Result<Url> resolve_reference(const Url& base, std::string_view reference);

}  // namespace brio::net
