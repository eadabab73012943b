// The formats of JSON schema that brio knows, as regular expressions (regex.h). Dates and times are RFC 3339's with its
// calendar, leap seconds left out; e-mail addresses RFC 5321's without quoted parts and address literals; IPv6 RFC 4291's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace brio::grammar {

std::optional<std::string> format_regex(std::string_view format);  // absent: not known

}  // namespace brio::grammar
