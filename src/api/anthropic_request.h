// Anthropic's request bodies, read into native requests and checked field by field. Pure functions, any thread.
//
// A conversation becomes native messages: "system" comes first; tool results become messages of role tool in front of
// the rest of their turn; turns of one role in a row are one turn, text blocks of a turn are joined by a line break. A
// last turn of the assistant is continued. Errors as in openai_request.h; what is supported, ignored and refused:
// docs/api.md.
#pragma once

#include <string_view>

#include "api/request.h"
#include "base/result.h"

namespace brio::api {

struct AnthropicRequest {
  ChatRequest chat;
  bool stream = false;
};

Result<AnthropicRequest> parse_anthropic_message(std::string_view body);  // POST /v1/messages
Result<AnthropicRequest> parse_anthropic_count(std::string_view body);    // POST /v1/messages/count_tokens

}  // namespace brio::api
