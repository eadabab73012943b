// Substring search that is linear whatever the two strings are: templates and texts are hostile.
#pragma once

#include <cstddef>
#include <string_view>

namespace brio::chat {

// First occurrence at or after `from`; npos if there is none. An empty needle is found at `from`.
size_t find_bytes(std::string_view text, std::string_view needle, size_t from);
// Last occurrence that ends at or before `end`.
size_t find_last_bytes(std::string_view text, std::string_view needle, size_t end);

}  // namespace brio::chat
