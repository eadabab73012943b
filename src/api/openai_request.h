// OpenAI's request bodies, read into native requests and checked field by field. Pure functions, any thread.
//
// Errors are kInvalidArgument, or kUnsupported for what brio cannot do and must not ignore; messages open with the
// field's path in quotes. Extensions besides OpenAI's fields: top_k, min_p, repetition_penalty, min_tokens,
// stop_token_ids, ignore_eos, structured_outputs, guided_json, guided_regex, guided_choice, guided_grammar, grammar,
// chat_template_kwargs, add_generation_prompt, continue_final_message, add_special_tokens. What each does: docs/api.md.
// Unknown fields are ignored.
#pragma once

#include <string_view>

#include "api/request.h"
#include "base/result.h"

namespace brio::api {

struct OpenAiRequest {
  Request request;
  bool stream = false;
  bool include_usage = false;  // stream_options: a last chunk with the usage
};

Result<OpenAiRequest> parse_openai_chat(std::string_view body);        // POST /v1/chat/completions
Result<OpenAiRequest> parse_openai_completion(std::string_view body);  // POST /v1/completions

}  // namespace brio::api
