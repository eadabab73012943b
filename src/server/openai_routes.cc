// The routes of OpenAI's clients; the list of models is Anthropic's too.
#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "api/anthropic_response.h"
#include "api/openai_dialect.h"
#include "api/openai_request.h"
#include "net/url.h"
#include "server/model_names.h"
#include "server/routes.h"

namespace brio::server {

void Routes::models(const Exchange& exchange) {
  const auto current = loaded_backend(exchange);
  if (!current) return;
  const std::vector<api::ModelInfo> models = current->models();
  constexpr std::string_view kPath = "/v1/models";
  const std::string& path = exchange.request.path;
  const bool anthropic = &exchange.dialect == &api::kAnthropic;
  if (path == kPath) {
    const auto listed = listed_models(models);
    return exchange.reply(anthropic ? api::anthropic_models(listed) : api::openai_models(listed));
  }
  const std::string wanted = net::percent_decoded(path.substr(kPath.size() + 1));
  const api::ModelInfo* found = find_model(models, wanted);
  if (!found) return refuse(exchange, unknown_model(wanted, models));
  api::ModelInfo named = *found;
  named.id = wanted;
  exchange.reply(anthropic ? api::anthropic_model(named) : api::openai_model(named));
}

void Routes::openai(const Exchange& exchange) {
  const std::string& body = exchange.request.body;
  const bool chat = exchange.request.path == "/v1/chat/completions";
  auto parsed = chat ? api::parse_openai_chat(body) : api::parse_openai_completion(body);
  if (!parsed.ok()) return refuse(exchange, parsed.error());
  api::Generation& wanted = api::generation(parsed->request);
  const auto backend = backend_for(exchange, wanted);
  if (!backend) return;

  api::OpenAiShape shape;
  shape.kind = chat ? api::OpenAiKind::kChat : api::OpenAiKind::kCompletion;
  shape.id = fmt::format("{}-{}", chat ? "chatcmpl" : "cmpl", random_id());
  shape.created = std::time(nullptr);
  shape.model = wanted.model;
  shape.fingerprint = backend->fingerprint();
  shape.num_choices = api::num_choices(parsed->request);
  shape.include_usage = parsed->include_usage;
  shape.logprobs = wanted.top_logprobs >= 0;
  AnswerFormat format{api::kOpenAi, nullptr, nullptr};
  if (parsed->stream) {
    format.stream = api::openai_stream(std::move(shape));
  } else {
    format.fold = api::openai_fold(std::move(shape));
  }
  answer(exchange, *backend, std::move(parsed->request), std::move(format));
}

}  // namespace brio::server
