// JSON output by appending to a string: the one writer of everything api sends. It repairs what is not UTF-8, so that
// no client ever meets a broken stream.
#pragma once

#include <string>
#include <string_view>

namespace brio::api {

// The text in quotes, escaped; bytes that are not UTF-8 become U+FFFD (one per maximal valid prefix).
void append_json_string(std::string& out, std::string_view text);

std::string json_string(std::string_view text);  // the same alone

// Shortest decimal that reads back equal. JSON has no infinities: they become -9999 and 9999, NaN becomes null.
void append_json_number(std::string& out, float number);

// The text if it is a JSON object, as the arguments of a tool call should be, else {}: a model may stop or err in the
// middle of one. Implemented in json_object.cc, with Boost.JSON.
std::string object_or_empty(std::string_view text);

// How many characters of UTF-8 begin in these bytes.
int count_characters(std::string_view bytes);

// Whether the bytes are whole, valid UTF-8.
bool is_utf8(std::string_view bytes);

}  // namespace brio::api
