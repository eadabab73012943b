// Small JSON files beside a model (config.json, the shard index), read whole, with limits on size and depth.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace brio::weights {

// The bytes of a regular file of at most max_bytes. kNotFound when there is none.
Result<std::string> read_text_file(const std::filesystem::path& path, uint64_t max_bytes);

// The object a JSON text holds; `path` is for the message, which gives the byte offset of a syntax error.
Result<boost::json::object> parse_json_object(std::string_view text, const std::filesystem::path& path);

}  // namespace brio::weights
