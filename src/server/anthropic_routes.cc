// The routes of Anthropic's clients.
#include <fmt/format.h>

#include <utility>

#include "api/anthropic_request.h"
#include "api/anthropic_response.h"
#include "server/routes.h"

namespace brio::server {

void Routes::messages(const Exchange& exchange) {
  auto parsed = api::parse_anthropic_message(exchange.request.body);
  if (!parsed.ok()) return refuse(exchange, parsed.error());
  api::Generation& wanted = parsed->chat.generation;
  const auto backend = backend_for(exchange, wanted);
  if (!backend) return;
  api::AnthropicShape shape{fmt::format("msg_{}", random_id()), wanted.model, wanted.max_tokens.value_or(0)};
  AnswerFormat format{api::kAnthropic, nullptr, nullptr};
  if (parsed->stream) {
    format.stream = api::anthropic_stream(std::move(shape));
  } else {
    format.fold = api::anthropic_fold(std::move(shape));
  }
  answer(exchange, *backend, std::move(parsed->chat), std::move(format));
}

void Routes::count_tokens(const Exchange& exchange) {
  auto parsed = api::parse_anthropic_count(exchange.request.body);
  if (!parsed.ok()) return refuse(exchange, parsed.error());
  render(exchange, std::move(parsed->chat), [](const std::vector<api::RenderedPrompt>& prompts) {
    return api::anthropic_token_count(prompts.front().ids.size());
  });
}

}  // namespace brio::server
