// From a native request to the token ids of its prompt: the chat template for conversations, the tokenizer for plain
// text. Comes before admission to the engine. Pure functions of the loaded model, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "api/request.h"
#include "base/result.h"
#include "server/loaded_model.h"

namespace brio::server {

// What clients wrote can never become a control token here: only the template's own text can.
// Errors: kUnsupported for a base model; kInvalidArgument with the template's own message (raise_exception).
Result<std::vector<int32_t>> chat_prompt(const LoadedModel& model, const api::ChatRequest& request);

// Text of /v1/completions is the whole prompt, control tokens included; ids are checked against the vocabulary.
// Errors: kInvalidArgument names 'prompt'.
Result<std::vector<int32_t>> completion_prompt(const LoadedModel& model, const api::Prompt& prompt);

}  // namespace brio::server
