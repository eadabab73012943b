// Answer: carries the events of one call to its client, streamed or folded into one response. It lives on the strand of
// the connection: events from the backend's threads are posted there, so that the engine never formats JSON or waits.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "api/backend.h"
#include "api/openai_response.h"
#include "net/http_server.h"

namespace brio::server {

class Answer : public api::EventSink, public std::enable_shared_from_this<Answer> {
 public:
  // calls: counts answers under way, for draining. headers: added to the response.
  Answer(api::OpenAiShape shape, bool stream, std::shared_ptr<net::Responder> responder, net::Headers headers,
         std::shared_ptr<std::atomic<int>> calls);
  ~Answer() override;

  // Starts the call and cancels it when the client goes. On the strand, once.
  void start(api::Backend& backend, api::Request request);
  void on_event(api::Event event) override;

 private:
  void take(const api::Event& event);
  void take_streamed(const api::Event& event);
  void take_folded(const api::Event& event);
  void refuse(const Error& error);

  std::shared_ptr<net::Responder> responder_;
  net::Headers headers_;
  std::shared_ptr<std::atomic<int>> calls_;
  std::unique_ptr<api::Call> call_;
  std::optional<api::OpenAiStream> stream_;
  std::optional<api::OpenAiFold> fold_;
  bool begun_ = false;
};

// The response to a request that failed as a whole.
net::ServerResponse error_response(const Error& error, net::Headers headers = {});

}  // namespace brio::server
