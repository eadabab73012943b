// parse: template source -> syntax tree.
#pragma once

#include <string_view>

#include "base/result.h"
#include "chat/syntax.h"

namespace brio::chat {

// source: newlines normalised. Errors (kInvalidFile) name the template, line and column.
Result<Block> parse_template(std::string_view source, std::string_view name);

}  // namespace brio::chat
