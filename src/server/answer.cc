#include "server/answer.h"

#include <utility>

#include "net/sse.h"

namespace brio::server {

namespace {
constexpr std::string_view kRetryAfterSeconds = "1";  // for 429 and 503: a queue moves within a step or two
}

net::ServerResponse error_response(const Error& error, net::Headers headers) {
  const int status = http_status(error.code);
  if (status == 429 || status == 503) headers.emplace_back("Retry-After", kRetryAfterSeconds);
  return {status, "application/json", api::openai_error(error), std::move(headers)};
}

Answer::Answer(api::OpenAiShape shape, bool stream, std::shared_ptr<net::Responder> responder, net::Headers headers,
               std::shared_ptr<std::atomic<int>> calls)
    : responder_(std::move(responder)), headers_(std::move(headers)), calls_(std::move(calls)) {
  if (stream) {
    stream_.emplace(std::move(shape));
  } else {
    fold_.emplace(std::move(shape));
  }
  calls_->fetch_add(1);
}

Answer::~Answer() {
  calls_->fetch_sub(1);
}

void Answer::start(api::Backend& backend, api::Request request) {
  call_ = backend.start(std::move(request), shared_from_this());
  responder_->on_gone([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->call_->cancel();
  });
}

void Answer::on_event(api::Event event) {
  responder_->post([self = shared_from_this(), event = std::move(event)] { self->take(event); });
}

void Answer::take(const api::Event& event) {
  stream_ ? take_streamed(event) : take_folded(event);
}

void Answer::take_streamed(const api::Event& event) {
  const auto* failed = std::get_if<api::Failed>(&event);
  if (failed && !begun_) return refuse(failed->error);
  if (!begun_) {
    begun_ = true;
    net::Headers headers = headers_;
    headers.emplace_back("Cache-Control", "no-cache");
    headers.emplace_back("X-Accel-Buffering", "no");  // proxies that collect responses would hold the tokens back
    responder_->begin(200, std::string(net::kSseContentType), std::move(headers));
  }
  std::vector<std::string> payloads;
  stream_->write(event, payloads);
  std::string bytes;
  for (const std::string& payload : payloads) bytes += net::sse_event(payload);
  if (!bytes.empty()) responder_->write(std::move(bytes));
  if (failed || std::holds_alternative<api::Done>(event)) responder_->end();
}

void Answer::take_folded(const api::Event& event) {
  if (const auto* failed = std::get_if<api::Failed>(&event)) return refuse(failed->error);
  fold_->add(event);
  if (std::holds_alternative<api::Done>(event)) {
    responder_->reply({200, "application/json", fold_->json(), headers_});
  }
}

void Answer::refuse(const Error& error) {
  responder_->reply(error_response(error, headers_));
}

}  // namespace brio::server
