// Escapes of Python string literals, as Jinja's own literals use them: \n \t \x41 \u0041 \U0001F600 \101 and line
// joins. An unknown escape stays as it is written.
#pragma once

#include <string>
#include <string_view>

namespace brio::chat {

// Appends to out; false, and the offset of the backslash in `bad`, when a \x, \u, \U is too short or out of range or
// a \N asks for a character by name.
bool unescape(std::string_view literal, std::string& out, size_t& bad);

}  // namespace brio::chat
