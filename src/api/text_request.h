// brio's own requests about text: what a conversation or a text becomes before the engine computes it. POST /tokenize,
// /detokenize and /apply-template, in the fields that clients of vLLM and llama-server send. Pure functions, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/backend.h"
#include "api/request.h"
#include "base/result.h"

namespace brio::api {

// "messages" and the rest of a chat, or a text in "prompt" (vLLM) or "content" (llama-server); one of them.
// Special tokens around a text: "add_special_tokens", by default yes for "prompt", or "add_special", by default no.
Result<Request> parse_tokenize(std::string_view body);
Result<Request> parse_apply_template(std::string_view body);  // a chat

struct DetokenizeRequest {
  std::string model;
  std::vector<int32_t> tokens;
};
Result<DetokenizeRequest> parse_detokenize(std::string_view body);

std::string tokenized_json(std::span<const int32_t> ids, int context);  // {"tokens", "count", "max_model_len"}
std::string text_json(std::string_view text);                           // {"prompt", "content"}: equal

}  // namespace brio::api
