#include "server/routes.h"

#include <fmt/format.h>

#include <utility>

#include "brio_version.h"
#include "server/model_names.h"

namespace brio::server {
namespace {

using net::Responder;
using net::ServerRequest;

// A step of the largest model on the slowest machine takes less.
constexpr std::chrono::seconds kLongestStall{120};

std::string_view name(api::Readiness readiness) {
  switch (readiness) {
    case api::Readiness::kReady:
      return "ok";
    case api::Readiness::kDraining:
      return "draining";
    case api::Readiness::kFailed:
      return "failed";
    case api::Readiness::kLoading:
      break;
  }
  return "loading";
}

Error not_ready(api::Readiness readiness) {
  switch (readiness) {
    case api::Readiness::kDraining:
      return error(ErrorCode::kUnavailable, "the server is shutting down");
    case api::Readiness::kFailed:
      return error(ErrorCode::kInternal, "the engine has stopped");
    default:
      return error(ErrorCode::kUnavailable, "the model is still loading");
  }
}

}  // namespace

struct Routes::Route {
  std::string_view path;
  bool and_below = false;  // "/v1/models" and "/v1/models/NAME"
  std::string_view method;
  void (Routes::*handler)(const Exchange& exchange);
};

const Routes::Route Routes::kRoutes[] = {
    {"/health", false, "GET", &Routes::health},
    {"/live", false, "GET", &Routes::live},
    {"/version", false, "GET", &Routes::version},
    {"/metrics", false, "GET", &Routes::metrics},
    {"/tokenize", false, "POST", &Routes::tokenize},
    {"/detokenize", false, "POST", &Routes::detokenize},
    {"/apply-template", false, "POST", &Routes::apply_template},
    {"/v1/models", true, "GET", &Routes::models},
    {"/v1/chat/completions", false, "POST", &Routes::openai},
    {"/v1/completions", false, "POST", &Routes::openai},
    {"/v1/messages", false, "POST", &Routes::messages},
    {"/v1/messages/count_tokens", false, "POST", &Routes::count_tokens},
    {"/", false, "GET", &Routes::ollama_root},
    {"/api/version", false, "GET", &Routes::ollama_version},
    {"/api/chat", false, "POST", &Routes::ollama_answer},
    {"/api/generate", false, "POST", &Routes::ollama_answer},
    {"/api/tags", false, "GET", &Routes::ollama_models},
    {"/api/ps", false, "GET", &Routes::ollama_models},
    {"/api/show", false, "POST", &Routes::ollama_show},
    {"/api/pull", false, "POST", &Routes::ollama_refuse},
    {"/api/push", false, "POST", &Routes::ollama_refuse},
    {"/api/create", false, "POST", &Routes::ollama_refuse},
    {"/api/copy", false, "POST", &Routes::ollama_refuse},
    {"/api/delete", false, "DELETE", &Routes::ollama_refuse},
    {"/api/embed", false, "POST", &Routes::ollama_refuse},
    {"/api/embeddings", false, "POST", &Routes::ollama_refuse},
};

void Routes::serve(std::shared_ptr<api::Backend> backend) {
  std::lock_guard lock(mutex_);
  backend_ = std::move(backend);
}

std::shared_ptr<api::Backend> Routes::backend() const {
  std::lock_guard lock(mutex_);
  return backend_;
}

api::Readiness Routes::readiness() const {
  if (draining_.load()) return api::Readiness::kDraining;
  const auto current = backend();
  return current ? current->readiness() : api::Readiness::kLoading;
}

net::ServerResponse Routes::error_response(int status, std::string_view reason, std::string_view path) {
  net::Headers headers;
  if (status == 429 || status == 503) headers.emplace_back("Retry-After", "1");
  return {status, "application/json", dialect_of(path).status_body(status, reason, {}), std::move(headers)};
}

void Routes::handle(ServerRequest request, const std::shared_ptr<Responder>& responder) {
  const Exchange exchange = make_exchange(request, responder);
  const auto refuse = [&](int status, const std::string& reason) {
    net::ServerResponse response = json_response(
        exchange.dialect, exchange.dialect.status_body(status, reason, exchange.request_id), exchange.request_id);
    response.status = status;
    return response;
  };
  std::string paths;
  std::string methods;  // of this path, when none of them is the request's
  for (const Route& route : kRoutes) {
    const bool below = route.and_below && request.path.starts_with(route.path) &&
                       request.path.substr(route.path.size()).starts_with('/');
    paths.append(paths.empty() ? "" : ", ").append(route.path);
    if (request.path != route.path && !below) continue;
    if (request.method == route.method || (request.method == "HEAD" && route.method == "GET")) {
      return (this->*route.handler)(exchange);
    }
    methods.append(methods.empty() ? "" : ", ").append(route.method == "GET" ? "GET, HEAD" : route.method);
  }
  if (methods.empty()) {
    return responder->reply(refuse(404, fmt::format("no such path: {}; there are {}", request.path, paths)));
  }
  net::ServerResponse response = refuse(405, fmt::format("{} takes {}, not {}", request.path, methods, request.method));
  response.headers.emplace_back("Allow", methods);
  responder->reply(std::move(response));
}

void Routes::refuse(const ReplyTo& to, const Error& error) {
  if (count_refused_) count_refused_(brio::name(error.code));
  to.responder->reply(server::error_response(to.dialect, error, to.request_id));
}

std::shared_ptr<api::Backend> Routes::ready_backend(const Exchange& exchange) {
  const api::Readiness state = readiness();
  auto current = backend();
  if (state == api::Readiness::kReady && current) return current;
  refuse(exchange, not_ready(state));
  return nullptr;
}

std::shared_ptr<api::Backend> Routes::loaded_backend(const Exchange& exchange) {
  auto current = backend();
  if (!current) refuse(exchange, not_ready(readiness()));
  return current;
}

std::shared_ptr<api::Backend> Routes::backend_for(const Exchange& exchange, api::Generation& wanted) {
  auto current = ready_backend(exchange);
  if (!current) return nullptr;
  const std::vector<api::ModelInfo> models = current->models();
  const api::ModelInfo* model = find_model(models, wanted.model);
  if (!model) {
    refuse(exchange, unknown_model(wanted.model, models));
    return nullptr;
  }
  if (wanted.model.empty()) wanted.model = model->id;
  wanted.arrival = exchange.arrival;
  return current;
}

void Routes::answer(const Exchange& exchange, api::Backend& backend, api::Request request, AnswerFormat format) {
  std::make_shared<Answer>(std::move(format), exchange.responder, exchange.request_id, calls_, keep_alive_)
      ->start(backend, std::move(request));
}

void Routes::render(const Exchange& exchange, api::Request request,
                    std::function<std::string(const std::vector<api::RenderedPrompt>& prompts)> json) {
  const auto backend = backend_for(exchange, api::generation(request));
  if (!backend) return;
  backend->render(std::move(request), [this, to = ReplyTo(exchange), json = std::move(json)](auto prompts) {
    prompts.ok() ? to.reply(json(*prompts)) : refuse(to, prompts.error());
  });
}

void Routes::health(const Exchange& exchange) {
  const api::Readiness state = readiness();
  net::ServerResponse response{200, "application/json", fmt::format(R"({{"status":"{}"}})", name(state)), {}};
  if (state != api::Readiness::kReady) {
    response.status = 503;
    response.headers.emplace_back("Retry-After", "1");
  }
  exchange.responder->reply(std::move(response));
}

// Whether to restart the process, not whether to send it requests: alive while it loads and drains, too.
void Routes::live(const Exchange& exchange) {
  const auto current = backend();
  const double stalled = current ? to_ms(current->stalled()) / 1000.0 : 0.0;
  const bool alive = stalled < kLongestStall.count();
  exchange.responder->reply(
      {alive ? 200 : 503,
       "application/json",
       fmt::format(R"({{"status":"{}","seconds_without_progress":{:.3f}}})", alive ? "alive" : "stalled", stalled),
       {}});
}

void Routes::version(const Exchange& exchange) {
  exchange.reply(fmt::format(R"({{"version":"{}","commit":"{}"}})", kVersion, kCommit));
}

void Routes::metrics(const Exchange& exchange) {
  exchange.responder->reply({200, "text/plain; version=0.0.4; charset=utf-8", metrics_ ? metrics_() : "", {}});
}

}  // namespace brio::server
