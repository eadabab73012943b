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
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "api/backend.h"
#include "net/http_server.h"

namespace brio::server {

class Routes {
 public:
  // More text for GET /metrics, called per request; and who counts what is refused before the backend sees it. Either
  // may be empty.
  explicit Routes(std::function<std::string()> metrics = {}, std::function<void(std::string_view)> count_refused = {})
      : metrics_(std::move(metrics)), count_refused_(std::move(count_refused)) {}

  void serve(std::shared_ptr<api::Backend> backend);
  void drain() { draining_ = true; }
  int calls_under_way() const { return calls_->load(); }

  void handle(net::ServerRequest request, const std::shared_ptr<net::Responder>& responder);

  // Answers that the HTTP layer gives by itself, in the API's error format.
  static net::ServerResponse error_response(int status, std::string_view reason);

 private:
  struct Route;
  static const Route kRoutes[];

  std::shared_ptr<api::Backend> backend() const;
  api::Readiness readiness() const;
  void health(const net::ServerRequest& request, const std::shared_ptr<net::Responder>& responder);
  void metrics(const net::ServerRequest& request, const std::shared_ptr<net::Responder>& responder);
  void models(const net::ServerRequest& request, const std::shared_ptr<net::Responder>& responder);
  void generate(const net::ServerRequest& request, const std::shared_ptr<net::Responder>& responder);

  std::function<std::string()> metrics_;
  std::function<void(std::string_view)> count_refused_;
  mutable std::mutex mutex_;
  std::shared_ptr<api::Backend> backend_;  // guarded by mutex_; null while loading
  std::atomic<bool> draining_{false};
  std::shared_ptr<std::atomic<int>> calls_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace brio::server
