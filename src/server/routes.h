// Routes: which path answers what. Between net and api: takes a request off the wire, starts a call on the backend and
// writes its events back. Knows Backend only, never the engine.
//
//   Routes routes;                                        // answers 503 until there is a backend
//   HttpServer::listen(options, [&](auto request, auto responder) { routes.handle(std::move(request), responder); });
//   routes.serve(backend);
//   routes.drain();                                       // no new calls; those under way go on
//
// handle() runs on a connection's strand and does not block. All members: any thread. Must outlive the HttpServer.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "api/backend.h"
#include "net/http_server.h"
#include "server/answer.h"
#include "server/exchange.h"

namespace brio::server {

class Routes {
 public:
  // More text for GET /metrics, called per request; and who counts what is refused before the backend sees it. Either
  // may be empty.
  explicit Routes(std::function<std::string()> metrics = {}, std::function<void(std::string_view)> count_refused = {},
                  std::chrono::milliseconds keep_alive = kKeepAlive)
      : metrics_(std::move(metrics)), count_refused_(std::move(count_refused)), keep_alive_(keep_alive) {}

  void serve(std::shared_ptr<api::Backend> backend);
  void drain() { draining_ = true; }
  int calls_under_way() const { return calls_->load(); }

  void handle(net::ServerRequest request, const std::shared_ptr<net::Responder>& responder);

  // Answers that the HTTP layer gives by itself, in the error format of the path's dialect.
  static net::ServerResponse error_response(int status, std::string_view reason, std::string_view path);

 private:
  struct Route;
  static const Route kRoutes[];

  std::shared_ptr<api::Backend> backend() const;
  api::Readiness readiness() const;
  void refuse(const ReplyTo& to, const Error& error);
  // Null: the exchange has been refused, because the server is not ready or has no such model. Fills in the model's name
  // where the client gave none.
  std::shared_ptr<api::Backend> ready_backend(const Exchange& exchange);
  std::shared_ptr<api::Backend> loaded_backend(const Exchange& exchange);  // also while draining
  std::shared_ptr<api::Backend> backend_for(const Exchange& exchange, api::Generation& wanted);
  void answer(const Exchange& exchange, api::Backend& backend, api::Request request, AnswerFormat format);
  // Answers with the JSON that is made of the request's prompts.
  void render(const Exchange& exchange, api::Request request,
              std::function<std::string(const std::vector<api::RenderedPrompt>& prompts)> json);

  void health(const Exchange& exchange);
  void live(const Exchange& exchange);
  void version(const Exchange& exchange);
  void metrics(const Exchange& exchange);
  void tokenize(const Exchange& exchange);  // text_routes.cc
  void detokenize(const Exchange& exchange);
  void apply_template(const Exchange& exchange);
  void models(const Exchange& exchange);  // openai_routes.cc
  void openai(const Exchange& exchange);
  void messages(const Exchange& exchange);  // anthropic_routes.cc
  void count_tokens(const Exchange& exchange);
  void ollama_root(const Exchange& exchange);  // ollama_routes.cc
  void ollama_version(const Exchange& exchange);
  void ollama_answer(const Exchange& exchange);
  void ollama_models(const Exchange& exchange);
  void ollama_show(const Exchange& exchange);
  void ollama_refuse(const Exchange& exchange);

  std::function<std::string()> metrics_;
  std::function<void(std::string_view)> count_refused_;
  std::chrono::milliseconds keep_alive_;
  mutable std::mutex mutex_;
  std::shared_ptr<api::Backend> backend_;  // guarded by mutex_; null while loading
  std::atomic<bool> draining_{false};
  std::shared_ptr<std::atomic<int>> calls_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace brio::server
