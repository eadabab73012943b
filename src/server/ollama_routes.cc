// The routes of Ollama's clients.
#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "api/ollama_request.h"
#include "api/ollama_response.h"
#include "brio_version.h"
#include "server/model_names.h"
#include "server/routes.h"

namespace brio::server {

// Some clients look for Ollama's own words.
void Routes::ollama_root(const Exchange& exchange) {
  exchange.responder->reply(
      {200, "text/plain; charset=utf-8", "brio answers here. For clients that ask: Ollama is running\n", {}});
}

void Routes::ollama_version(const Exchange& exchange) {
  exchange.reply(api::ollama_version(kVersion));
}

void Routes::ollama_answer(const Exchange& exchange) {
  const std::string& body = exchange.request.body;
  const bool chat = exchange.request.path == "/api/chat";
  auto parsed = chat ? api::parse_ollama_chat(body) : api::parse_ollama_generate(body);
  if (!parsed.ok()) return refuse(exchange, parsed.error());
  api::Generation& wanted = api::generation(parsed->request);
  const auto backend = backend_for(exchange, wanted);
  if (!backend) return;
  api::OllamaShape shape;
  shape.kind = chat ? api::OllamaKind::kChat : api::OllamaKind::kGenerate;
  shape.model = wanted.model;
  shape.created = std::time(nullptr);
  shape.logprobs = wanted.top_logprobs >= 0;
  if (parsed->empty) return exchange.reply(api::ollama_loaded(shape));
  const std::vector<api::ModelInfo> models = backend->models();
  const auto* turn = std::get_if<api::ChatRequest>(&parsed->request);
  if (!chat && turn && !find_model(models, wanted.model)->chat) parsed->request = api::as_completion(*turn);
  AnswerFormat format{api::kOllama, nullptr, nullptr};
  if (parsed->stream) {
    format.stream = api::ollama_stream(std::move(shape));
  } else {
    format.fold = api::ollama_fold(std::move(shape));
  }
  answer(exchange, *backend, std::move(parsed->request), std::move(format));
}

void Routes::ollama_models(const Exchange& exchange) {
  const auto backend = loaded_backend(exchange);
  if (!backend) return;
  const auto models = listed_models(backend->models());
  exchange.reply(exchange.request.path == "/api/ps" ? api::ollama_running(models) : api::ollama_tags(models));
}

void Routes::ollama_show(const Exchange& exchange) {
  const auto name = api::parse_ollama_model(exchange.request.body);
  if (!name.ok()) return refuse(exchange, name.error());
  const auto backend = loaded_backend(exchange);
  if (!backend) return;
  const auto models = backend->models();
  const api::ModelInfo* model = find_model(models, *name);
  if (!model) return refuse(exchange, unknown_model(*name, models));
  exchange.reply(api::ollama_show(*model));
}

void Routes::ollama_refuse(const Exchange& exchange) {
  const std::string& path = exchange.request.path;
  if (path.starts_with("/api/embed")) {
    return refuse(exchange, error(ErrorCode::kUnsupported, "{}: there are no embeddings in this version", path));
  }
  refuse(exchange, error(ErrorCode::kUnsupported,
                         "{}: this server serves the model it was started with; 'brio pull', 'brio rm' and "
                         "'brio serve' manage models",
                         path));
}

}  // namespace brio::server
