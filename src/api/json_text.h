// JSON output by appending to a string: the one writer of everything api sends. It repairs what is not UTF-8, so that
// no client ever meets a broken stream.
#pragma once

#include <string>
#include <string_view>

namespace brio::api {

// The text in quotes, escaped; bytes that are not UTF-8 become U+FFFD (one per maximal valid prefix).
void append_json_string(std::string& out, std::string_view text);

// Shortest decimal that reads back equal. JSON has no infinities: they become -9999 and 9999, NaN becomes null.
void append_json_number(std::string& out, float number);

// How many characters of UTF-8 begin in these bytes.
int count_characters(std::string_view bytes);

// Whether the bytes are whole, valid UTF-8.
bool is_utf8(std::string_view bytes);

}  // namespace brio::api
