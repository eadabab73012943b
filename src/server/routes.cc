#include "server/routes.h"

#include <fmt/format.h>

#include <ctime>
#include <random>

#include "api/openai_request.h"
#include "api/openai_response.h"
#include "net/url.h"
#include "server/answer.h"

namespace brio::server {
namespace {

using net::Responder;
using net::ServerRequest;

// 96 random bits: ids of one server do not repeat.
std::string random_id() {
  thread_local std::mt19937_64 bits{(uint64_t{std::random_device{}()} << 32) ^ std::random_device{}()};
  return fmt::format("{:016x}{:08x}", bits(), static_cast<uint32_t>(bits()));
}

// The client's own id comes back; without one it gets ours.
std::string request_id(const ServerRequest& request) {
  constexpr size_t kLongest = 128;
  const std::string_view given = request.header("x-request-id");
  return given.empty() ? fmt::format("req-{}", random_id()) : std::string(given.substr(0, kLongest));
}

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

Error unknown_model(const std::string& model, const std::vector<api::ModelInfo>& models) {
  std::string known;
  for (const api::ModelInfo& info : models) known += fmt::format("{}'{}'", known.empty() ? "" : ", ", info.id);
  return error(ErrorCode::kNotFound, "'model' is '{}'; this server has {}", model, known);
}

bool serves(const std::vector<api::ModelInfo>& models, const std::string& name) {
  for (const api::ModelInfo& info : models) {
    if (info.id == name) return true;
  }
  return false;
}

}  // namespace

struct Routes::Route {
  std::string_view path;
  bool and_below = false;  // "/v1/models" and "/v1/models/NAME"
  std::string_view method;
  void (Routes::*handler)(const ServerRequest& request, const std::shared_ptr<Responder>& responder);
};

const Routes::Route Routes::kRoutes[] = {
    {"/health", false, "GET", &Routes::health},
    {"/metrics", false, "GET", &Routes::metrics},
    {"/v1/models", true, "GET", &Routes::models},
    {"/v1/chat/completions", false, "POST", &Routes::generate},
    {"/v1/completions", false, "POST", &Routes::generate},
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

net::ServerResponse Routes::error_response(int status, std::string_view reason) {
  net::Headers headers;
  if (status == 429 || status == 503) headers.emplace_back("Retry-After", "1");
  return {status, "application/json", api::openai_error(status, reason), std::move(headers)};
}

void Routes::handle(ServerRequest request, const std::shared_ptr<Responder>& responder) {
  std::string paths;
  for (const Route& route : kRoutes) {
    const bool below = route.and_below && request.path.starts_with(route.path) &&
                       request.path.substr(route.path.size()).starts_with('/');
    paths.append(paths.empty() ? "" : ", ").append(route.path);
    if (request.path != route.path && !below) continue;
    if (request.method == route.method || (request.method == "HEAD" && route.method == "GET")) {
      return (this->*route.handler)(request, responder);
    }
    net::ServerResponse refused =
        error_response(405, fmt::format("{} takes {}, not {}", route.path, route.method, request.method));
    refused.headers.emplace_back("Allow", route.method == "GET" ? "GET, HEAD" : route.method);
    return responder->reply(std::move(refused));
  }
  responder->reply(error_response(404, fmt::format("no such path: {}; there are {}", request.path, paths)));
}

void Routes::health(const ServerRequest& /*request*/, const std::shared_ptr<Responder>& responder) {
  const api::Readiness state = readiness();
  net::ServerResponse response{200, "application/json", fmt::format(R"({{"status":"{}"}})", name(state)), {}};
  if (state != api::Readiness::kReady) {
    response.status = 503;
    response.headers.emplace_back("Retry-After", "1");
  }
  responder->reply(std::move(response));
}

void Routes::metrics(const ServerRequest& /*request*/, const std::shared_ptr<Responder>& responder) {
  responder->reply({200, "text/plain; version=0.0.4; charset=utf-8", metrics_ ? metrics_() : "", {}});
}

void Routes::models(const ServerRequest& request, const std::shared_ptr<Responder>& responder) {
  const auto current = backend();
  if (!current) return responder->reply(server::error_response(not_ready(readiness())));
  const std::vector<api::ModelInfo> models = current->models();
  constexpr std::string_view kPath = "/v1/models";
  if (request.path == kPath) return responder->reply({200, "application/json", api::openai_models(models), {}});
  const std::string wanted = net::percent_decoded(request.path.substr(kPath.size() + 1));
  for (const api::ModelInfo& info : models) {
    if (info.id == wanted) return responder->reply({200, "application/json", api::openai_model(info), {}});
  }
  responder->reply(server::error_response(unknown_model(wanted, models)));
}

void Routes::generate(const ServerRequest& request, const std::shared_ptr<Responder>& responder) {
  const TimePoint arrival = Clock::steady().now();
  net::Headers headers = {{"x-request-id", request_id(request)}};
  const auto refuse = [&](const Error& error) {
    if (count_refused_) count_refused_(brio::name(error.code));
    responder->reply(server::error_response(error, headers));
  };
  const bool chat = request.path == "/v1/chat/completions";
  auto parsed = chat ? api::parse_openai_chat(request.body) : api::parse_openai_completion(request.body);
  if (!parsed.ok()) return refuse(parsed.error());
  const api::Readiness state = readiness();
  const auto current = backend();
  if (state != api::Readiness::kReady || !current) return refuse(not_ready(state));
  const std::vector<api::ModelInfo> models = current->models();
  api::Generation& wanted = api::generation(parsed->request);
  if (wanted.model.empty() && !models.empty()) wanted.model = models.front().id;
  if (!serves(models, wanted.model)) return refuse(unknown_model(wanted.model, models));
  wanted.arrival = arrival;

  api::OpenAiShape shape;
  shape.kind = chat ? api::OpenAiKind::kChat : api::OpenAiKind::kCompletion;
  shape.id = fmt::format("{}-{}", chat ? "chatcmpl" : "cmpl", random_id());
  shape.created = std::time(nullptr);
  shape.model = wanted.model;
  shape.fingerprint = current->fingerprint();
  shape.num_choices = api::num_choices(parsed->request);
  shape.include_usage = parsed->include_usage;
  shape.logprobs = wanted.top_logprobs >= 0;
  std::make_shared<Answer>(std::move(shape), parsed->stream, responder, std::move(headers), calls_)
      ->start(*current, std::move(parsed->request));
}

}  // namespace brio::server
