// Answer: carries the events of one call to its client, streamed or folded into one response, in the client's dialect. It
// lives on the strand of the connection: events from the backend's threads are posted there, so that the engine never
// formats JSON or waits.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "api/backend.h"
#include "api/dialect.h"
#include "net/http_server.h"

namespace brio::server {

// How an answer is written: one of the two writers.
struct AnswerFormat {
  const api::Dialect& dialect;
  std::unique_ptr<api::StreamWriter> stream;
  std::unique_ptr<api::AnswerFold> fold;
};

// Proxies close a stream that says nothing for a minute; a prompt may take longer.
constexpr std::chrono::milliseconds kKeepAlive{15'000};

class Answer : public api::EventSink, public std::enable_shared_from_this<Answer> {
 public:
  // calls: counts answers under way, for draining. request_id: goes into the dialect's header.
  Answer(AnswerFormat format, std::shared_ptr<net::Responder> responder, std::string request_id,
         std::shared_ptr<std::atomic<int>> calls, std::chrono::milliseconds keep_alive = kKeepAlive);
  ~Answer() override;

  // Starts the call and cancels it when the client goes. On the strand, once.
  void start(api::Backend& backend, api::Request request);
  void on_event(api::Event event) override;

 private:
  void take(const api::Event& event);
  void take_streamed(const api::Event& event);
  void take_folded(const api::Event& event);
  void begin();
  void keep_alive();

  AnswerFormat format_;
  std::shared_ptr<net::Responder> responder_;
  std::string request_id_;
  std::shared_ptr<std::atomic<int>> calls_;
  std::chrono::milliseconds keep_alive_;
  std::unique_ptr<api::Call> call_;
  bool begun_ = false;
};

// Responses in a dialect: JSON with its request id, and a request that failed as a whole.
net::ServerResponse json_response(const api::Dialect& dialect, std::string body, std::string_view request_id);
net::ServerResponse error_response(const api::Dialect& dialect, const Error& error, std::string_view request_id);

}  // namespace brio::server
