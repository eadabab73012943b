// From a native request to the token ids of its prompt: the chat template for conversations, the tokenizer for plain
// text. Comes before admission to the engine. Pure functions of the loaded model, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/backend.h"
#include "api/request.h"
#include "base/result.h"
#include "server/choice_output.h"
#include "server/loaded_model.h"
#include "tokenizer/text_piece.h"

namespace brio::server {

// The conversation as the template writes it, tools and earlier calls in the form it wants them; without the ending of
// an answer that is to be continued.
// Errors: kUnsupported for a base model; kInvalidArgument with the template's own message (raise_exception).
Result<std::vector<tokenizer::TextPiece>> chat_text(const LoadedModel& model, const api::ChatRequest& request);

// Its ids. What clients wrote can never become a control token here: only the template's own text can.
Result<std::vector<int32_t>> chat_prompt(const LoadedModel& model, const api::ChatRequest& request);

// How the answers to such a request are to be read. prompt: what chat_text returned.
OutputRules output_rules(const LoadedModel& model, const api::ChatRequest& request,
                         const std::vector<tokenizer::TextPiece>& prompt);
// The control tokens that are text in answers of that format: markers of calls and reasoning.
std::vector<int32_t> shown_tokens(const LoadedModel& model, const chat::OutputFormat& format);

// Text of /v1/completions is the whole prompt, control tokens included; ids are checked against the vocabulary.
// Errors: kInvalidArgument names 'prompt'.
Result<std::vector<int32_t>> completion_prompt(const LoadedModel& model, const api::Prompt& prompt,
                                               tokenizer::AddSpecial add_special = tokenizer::AddSpecial::kYes);

tokenizer::AddSpecial add_special(const api::CompletionRequest& request);

// All prompts of a request, as text too.
Result<std::vector<api::RenderedPrompt>> rendered_prompts(const LoadedModel& model, const api::Request& request);

// Errors: kInvalidArgument names `field` for an id outside the vocabulary.
Result<void> check_ids(const LoadedModel& model, const std::vector<int32_t>& ids, std::string_view field);

}  // namespace brio::server
