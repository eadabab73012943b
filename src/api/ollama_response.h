// Ollama's answers, written from native events: a line of JSON per event, or one object folded from the same events;
// and what it tells about models.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "api/backend.h"
#include "api/dialect.h"

namespace brio::api {

enum class OllamaKind { kChat, kGenerate };

struct OllamaShape {
  OllamaKind kind = OllamaKind::kChat;
  std::string model;
  int64_t created = 0;  // seconds since 1970
  bool logprobs = false;
};

std::unique_ptr<StreamWriter> ollama_stream(OllamaShape shape);
std::unique_ptr<AnswerFold> ollama_fold(OllamaShape shape);

// The answer to an empty prompt: the model is there.
std::string ollama_loaded(const OllamaShape& shape);

std::string ollama_tags(std::span<const ModelInfo> models);     // GET /api/tags
std::string ollama_running(std::span<const ModelInfo> models);  // GET /api/ps
std::string ollama_show(const ModelInfo& model);                // POST /api/show
std::string ollama_version(std::string_view brio_version);      // GET /api/version

}  // namespace brio::api
