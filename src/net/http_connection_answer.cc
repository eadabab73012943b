// The answering half of Connection: what Responder's calls turn into, and the writes.
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/status.hpp>
#include <cstdio>
#include <ctime>

#include "net/http_connection.h"

namespace brio::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

// Header values may echo what a client sent: nothing in them may end the line.
void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  for (char c : value) out.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
  out.append("\r\n");
}

}  // namespace

std::string Connection::head(int status, const std::string& content_type, const Headers& headers) const {
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  std::string out = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
  append_header(out, "Date", date_now());
  if (!content_type.empty()) append_header(out, "Content-Type", content_type);
  for (const auto& [name, value] : headers) append_header(out, name, value);
  append_header(out, "Connection", keep_alive_ ? "keep-alive" : "close");
  return out;
}

void Connection::reply(uint64_t serial, const ServerResponse& response) {
  if (!current(serial) || head_written_) return;
  if (host_.stopping.load()) keep_alive_ = false;
  head_written_ = ended_ = true;
  pending_ += head(response.status, response.content_type, response.headers);
  append_header(pending_, "Content-Length", std::to_string(response.body.size()));
  pending_ += "\r\n";
  if (!without_body_) pending_ += response.body;
  flush();
}

void Connection::begin(uint64_t serial, int status, const std::string& content_type, const Headers& headers) {
  if (!current(serial) || head_written_) return;
  if (host_.stopping.load() || !chunked_) keep_alive_ = false;  // HTTP/1.0: the close marks the end
  head_written_ = true;
  pending_ += head(status, content_type, headers);
  if (chunked_) append_header(pending_, "Transfer-Encoding", "chunked");
  pending_ += "\r\n";
  flush();
}

void Connection::write(uint64_t serial, const std::string& bytes) {
  if (!current(serial) || !head_written_ || ended_ || bytes.empty() || without_body_) return;
  if (is_too_slow()) {
    host_.slow_readers.fetch_add(1);
    return drop();
  }
  if (on_quiet_) last_write_ = std::chrono::steady_clock::now();
  if (chunked_) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    pending_.append(size).append(bytes).append("\r\n");
  } else {
    pending_ += bytes;
  }
  flush();
}

// What waits already is judged, not what comes, and over time: a large piece or many at once are no sign of a slow
// reader, who could not have read them yet.
bool Connection::is_too_slow() {
  const HttpServerOptions& options = host_.options;
  const size_t waiting = pending_.size() + in_flight_.size();
  if (waiting <= options.max_pending_write_bytes) {
    behind_since_.reset();
    return false;
  }
  const auto now = std::chrono::steady_clock::now();
  if (!behind_since_) behind_since_ = now;
  return waiting > options.max_burst_bytes || now - *behind_since_ > options.behind_timeout;
}

void Connection::end(uint64_t serial) {
  if (!current(serial) || !head_written_ || ended_) return;
  ended_ = true;
  if (chunked_ && !without_body_) pending_ += "0\r\n\r\n";
  flush();
}

void Connection::break_off(uint64_t serial) {
  if (!current(serial) || ended_) return;
  ended_ = true;
  keep_alive_ = false;
  flush();
}

void Connection::abandon(uint64_t serial) {
  if (!current(serial) || ended_) return;
  if (head_written_) return break_off(serial);
  refuse(500, "the request was dropped without an answer");
}

void Connection::on_gone(uint64_t serial, std::function<void()> callback) {
  if (current(serial)) {
    on_gone_ = std::move(callback);
  } else if (gone_) {
    callback();
  }
}

void Connection::on_quiet(uint64_t serial, std::chrono::milliseconds quiet, std::function<void()> callback) {
  if (!current(serial) || ended_) return;
  on_quiet_ = std::move(callback);
  last_write_ = std::chrono::steady_clock::now();
  arm_quiet_timer(serial, quiet, last_write_ + quiet);
}

// ---- writing ----

void Connection::flush() {
  if (writing_ || phase_ == Phase::kClosed) return;
  if (pending_.empty()) {
    if (ended_) finish_answer();
    return;
  }
  writing_ = true;
  in_flight_.clear();
  in_flight_.swap(pending_);
  write_some(0);
}

void Connection::write_some(size_t offset) {
  arm_write_timer();
  socket_.async_write_some(asio::buffer(in_flight_.data() + offset, in_flight_.size() - offset),
                           [self = shared_from_this(), offset](ErrorCode error, size_t num_bytes) {
                             self->on_written(error, offset, num_bytes);
                           });
}

void Connection::on_written(ErrorCode error, size_t offset, size_t num_bytes) {
  if (phase_ == Phase::kClosed) return;
  if (error) return drop();
  offset += num_bytes;
  if (offset < in_flight_.size()) return write_some(offset);
  writing_ = false;
  behind_since_.reset();  // what waits now came while this was written
  write_timer_.cancel();
  in_flight_.clear();
  if (!pending_.empty() || ended_) flush();
}

void Connection::finish_answer() {
  on_gone_ = nullptr;
  on_quiet_ = nullptr;
  quiet_timer_.cancel();
  release_body();
  ended_ = false;
  if (!keep_alive_ || host_.stopping.load()) return linger();
  phase_ = Phase::kIdle;
  arm_read_timer(host_.options.idle_timeout);
  // A new turn of the loop: a client that pipelines thousands of requests does not grow the stack.
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->feed();
    self->read();
  });
}

// Closing with unread input would reset the connection and could lose the answer: half-close, read on for a while.
void Connection::linger() {
  if (input_ended_) return close();
  phase_ = Phase::kLingering;
  ErrorCode ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  input_.clear();
  arm_read_timer(host_.options.linger_timeout);
  read();
}

void Connection::drop() {
  if (phase_ == Phase::kAnswering && !ended_) host_.gone.fetch_add(1);
  gone_ = phase_ == Phase::kAnswering;
  auto callback = std::move(on_gone_);
  on_gone_ = nullptr;
  close();
  if (callback) callback();
}

void Connection::close() {
  phase_ = Phase::kClosed;
  ErrorCode ignored;
  read_timer_.cancel();
  write_timer_.cancel();
  quiet_timer_.cancel();
  on_quiet_ = nullptr;
  socket_.close(ignored);
  release_body();
}

}  // namespace brio::net
