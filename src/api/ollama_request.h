// Ollama's request bodies, read into native requests and checked field by field. Pure functions, any thread.
//
// Sampling that the client leaves open is Ollama's: temperature 0.8, top_k 40, top_p 0.9, but no penalty. A last message
// of the assistant is continued. Errors as in openai_request.h; what is supported, ignored and refused: docs/api.md.
#pragma once

#include <string>
#include <string_view>

#include "api/request.h"
#include "base/result.h"

namespace brio::api {

struct OllamaRequest {
  Request request;
  bool stream = true;
  bool empty = false;  // nothing to answer: the client wants the model loaded
};

Result<OllamaRequest> parse_ollama_chat(std::string_view body);  // POST /api/chat
// POST /api/generate: a conversation of one turn, or with "raw" a completion.
Result<OllamaRequest> parse_ollama_generate(std::string_view body);

// A conversation of one turn as plain text, for models without a chat template.
CompletionRequest as_completion(const ChatRequest& chat);

// The name in a body that is about a model: "model", or "name" as older clients write it. POST /api/show, ...
Result<std::string> parse_ollama_model(std::string_view body);

}  // namespace brio::api
