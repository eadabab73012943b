#include "server/answer.h"

#include <utility>

#include "net/sse.h"

namespace brio::server {

namespace {

constexpr std::string_view kRetryAfterSeconds = "1";  // for 429 and 503: a queue moves within a step or two

net::Headers id_header(const api::Dialect& dialect, std::string_view request_id) {
  net::Headers headers;
  if (!request_id.empty()) headers.emplace_back(dialect.request_id_header, request_id);
  return headers;
}

std::string framed(api::Framing framing, const api::Frame& frame) {
  return framing == api::Framing::kJsonLines ? frame.data + "\n" : net::sse_event(frame.data, frame.name);
}

}  // namespace

net::ServerResponse json_response(const api::Dialect& dialect, std::string body, std::string_view request_id) {
  return {200, "application/json", std::move(body), id_header(dialect, request_id)};
}

net::ServerResponse error_response(const api::Dialect& dialect, const Error& error, std::string_view request_id) {
  net::ServerResponse response = json_response(dialect, dialect.error_body(error, request_id), request_id);
  response.status = http_status(error.code);
  if (response.status == 429 || response.status == 503) {
    response.headers.emplace_back("Retry-After", kRetryAfterSeconds);
  }
  return response;
}

Answer::Answer(AnswerFormat format, std::shared_ptr<net::Responder> responder, std::string request_id,
               std::shared_ptr<std::atomic<int>> calls, std::chrono::milliseconds keep_alive)
    : format_(std::move(format)),
      responder_(std::move(responder)),
      request_id_(std::move(request_id)),
      calls_(std::move(calls)),
      keep_alive_(keep_alive) {
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
  format_.stream ? take_streamed(event) : take_folded(event);
}

void Answer::begin() {
  begun_ = true;
  net::Headers headers = id_header(format_.dialect, request_id_);
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");  // proxies that collect responses would hold the tokens back
  const bool lines = format_.dialect.framing == api::Framing::kJsonLines;
  responder_->begin(200, std::string(lines ? "application/x-ndjson" : net::kSseContentType), std::move(headers));
  responder_->on_quiet(keep_alive_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->keep_alive();
  });
}

void Answer::keep_alive() {
  if (const auto frame = format_.stream->keep_alive()) {
    responder_->write(framed(format_.dialect.framing, *frame));
  } else if (format_.dialect.framing == api::Framing::kServerSentEvents) {
    responder_->write(net::sse_comment("at work"));
  }
}

void Answer::take_streamed(const api::Event& event) {
  const auto* failed = std::get_if<api::Failed>(&event);
  if (failed && !begun_) return responder_->reply(error_response(format_.dialect, failed->error, request_id_));
  if (!begun_) begin();
  std::vector<api::Frame> frames;
  format_.stream->write(event, frames);
  std::string bytes;
  for (const api::Frame& frame : frames) bytes += framed(format_.dialect.framing, frame);
  if (!bytes.empty()) responder_->write(std::move(bytes));
  if (failed || std::holds_alternative<api::Done>(event)) responder_->end();
}

void Answer::take_folded(const api::Event& event) {
  if (const auto* failed = std::get_if<api::Failed>(&event)) {
    return responder_->reply(error_response(format_.dialect, failed->error, request_id_));
  }
  format_.fold->add(event);
  if (std::holds_alternative<api::Done>(event)) {
    responder_->reply(json_response(format_.dialect, format_.fold->json(), request_id_));
  }
}

}  // namespace brio::server
