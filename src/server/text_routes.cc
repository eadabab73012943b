// The routes about text without generation: /tokenize, /detokenize, /apply-template.
#include <utility>

#include "api/text_request.h"
#include "server/routes.h"

namespace brio::server {

void Routes::tokenize(const Exchange& exchange) {
  auto parsed = api::parse_tokenize(exchange.request.body);
  if (!parsed.ok()) return refuse(exchange, parsed.error());
  const auto current = backend();
  const auto models = current ? current->models() : std::vector<api::ModelInfo>{};
  const int context = models.empty() ? 0 : models.front().context;
  render(exchange, std::move(parsed).value(), [context](const std::vector<api::RenderedPrompt>& prompts) {
    return api::tokenized_json(prompts.front().ids, context);
  });
}

void Routes::detokenize(const Exchange& exchange) {
  auto parsed = api::parse_detokenize(exchange.request.body);
  if (!parsed.ok()) return refuse(exchange, parsed.error());
  api::Generation wanted;
  wanted.model = parsed->model;
  const auto backend = backend_for(exchange, wanted);
  if (!backend) return;
  backend->detokenize(std::move(parsed->tokens), [this, to = ReplyTo(exchange)](const Result<std::string>& text) {
    text.ok() ? to.reply(api::text_json(*text)) : refuse(to, text.error());
  });
}

void Routes::apply_template(const Exchange& exchange) {
  auto parsed = api::parse_apply_template(exchange.request.body);
  if (!parsed.ok()) return refuse(exchange, parsed.error());
  render(exchange, std::move(parsed).value(),
         [](const std::vector<api::RenderedPrompt>& prompts) { return api::text_json(prompts.front().text); });
}

}  // namespace brio::server
