// Anthropic's answers, written from native events: named server-sent events, or one message folded from the same.
// Beyond Anthropic's fields nothing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/backend.h"
#include "api/dialect.h"

namespace brio::api {

struct AnthropicShape {
  std::string id;  // "msg_..."
  std::string model;
  int max_tokens = 0;  // asked for: an answer that ends before has met the end of the context
};

std::unique_ptr<StreamWriter> anthropic_stream(AnthropicShape shape);
std::unique_ptr<AnswerFold> anthropic_fold(AnthropicShape shape);

// {"type": "error", "error": {"type", "message"}, "request_id"}
std::string anthropic_error(int status, std::string_view message, std::string_view request_id);

std::string anthropic_models(std::span<const ModelInfo> models);
std::string anthropic_model(const ModelInfo& model);
std::string anthropic_token_count(size_t tokens);

}  // namespace brio::api
