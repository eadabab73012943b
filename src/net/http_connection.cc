#include "net/http_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <utility>

#include "base/memory_reserve.h"

namespace brio::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::chrono::milliseconds kPeerCheck{200};
constexpr size_t kMaxWaitingBytes = 64 << 10;  // of pipelined requests while an answer is under way

int status_of(const boost::system::error_code& error) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::buffer_overflow) return 431;
  if (error == http::error::bad_version) return 505;
  return 400;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, ConnectionHost& host)
    : socket_(std::move(socket)),
      read_timer_(socket_.get_executor()),
      peer_timer_(socket_.get_executor()),
      write_timer_(socket_.get_executor()),
      quiet_timer_(socket_.get_executor()),
      host_(host) {
  ErrorCode ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);  // finds peers that vanished without a word
  if (host_.options.send_buffer_bytes > 0) {
    socket_.set_option(asio::socket_base::send_buffer_size(host_.options.send_buffer_bytes), ignored);
  }
  const auto endpoint = socket_.remote_endpoint(ignored);
  if (!ignored) peer_ = endpoint.address().to_string();
  std::lock_guard lock(host_.mutex);
  host_.connections.insert(this);
}

Connection::~Connection() {
  release_body();
  std::lock_guard lock(host_.mutex);
  host_.connections.erase(this);
}

void Connection::start() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->host_.stopping.load()) return self->close();  // accepted while the server stopped
    self->arm_read_timer(self->host_.options.idle_timeout);
    self->read();
  });
}

void Connection::close_idle() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->phase_ == Phase::kIdle) self->close();
  });
}

void Connection::close_now() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->drop(); });
}

// ---- reading ----

void Connection::read() {
  if (read_outstanding_ || input_ended_ || phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kAnswering && input_.size() >= kMaxWaitingBytes) return watch_peer();
  read_outstanding_ = true;
  socket_.async_read_some(asio::buffer(arriving_), [self = shared_from_this()](ErrorCode error, size_t num_bytes) {
    self->read_outstanding_ = false;
    self->survive([&] { self->on_read(error, num_bytes); });
  });
}

// While nothing is read, the end of input stays unseen: ask the kernel whether the peer is still there.
void Connection::watch_peer() {
  peer_timer_.expires_after(kPeerCheck);
  peer_timer_.async_wait([weak = weak_from_this()](ErrorCode error) {
    const auto self = weak.lock();
    if (error || !self || self->phase_ != Phase::kAnswering || self->read_outstanding_) return;
    tcp_info info{};
    socklen_t size = sizeof info;
    const bool known = getsockopt(self->socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
    if (known && info.tcpi_state != TCP_ESTABLISHED) return self->on_input_end(asio::error::eof);
    self->watch_peer();
  });
}

void Connection::on_read(ErrorCode error, size_t num_bytes) {
  if (phase_ == Phase::kClosed) return;
  if (error) return on_input_end(error);
  input_.commit(asio::buffer_copy(input_.prepare(num_bytes), asio::buffer(arriving_.data(), num_bytes)));
  if (phase_ == Phase::kLingering) input_.clear();
  feed();
  read();
}

void Connection::on_input_end(ErrorCode error) {
  input_ended_ = true;
  if (phase_ != Phase::kAnswering) return close();
  if (error != asio::error::eof || !ended_) return drop();
  keep_alive_ = false;  // nothing more to ask, but the finished answer is still on its way out
}

void Connection::feed() {
  while ((phase_ == Phase::kIdle || phase_ == Phase::kReading) && input_.size() > 0) {
    if (phase_ == Phase::kIdle) {
      const auto* first = static_cast<const char*>(input_.data().data());
      if (*first == '\r' || *first == '\n') {  // RFC 9112, section 2.2: empty lines between requests
        input_.consume(1);
        continue;
      }
      begin_request();
    }
    ErrorCode error;
    const size_t used = parser_->put(input_.data(), error);
    input_.consume(used);
    if (error && error != http::error::need_more) return refuse(status_of(error), error.message());
    if (parser_->is_header_done() && !header_accepted_ && !accept_header()) return;
    if (!reserve_body()) return;
    if (parser_->is_done()) return hand_over();
    if (used > 0) continue;
    // Chunk headers and trailers are taken whole: an endless one would grow for as long as the body may take.
    if (input_.size() > host_.options.max_header_bytes) refuse(400, "a chunk's header or trailer is too long");
    return;
  }
}

void Connection::begin_request() {
  phase_ = Phase::kReading;
  parser_.emplace();
  parser_->eager(false);  // stops after the header: trailers of the body join the fields of the message
  parser_->header_limit(static_cast<uint32_t>(host_.options.max_header_bytes));
  parser_->body_limit(host_.options.max_body_bytes);
  header_accepted_ = false;
  head_written_ = chunked_ = ended_ = keep_alive_ = without_body_ = false;
  arm_read_timer(host_.options.header_timeout);
}

bool Connection::accept_header() {
  header_accepted_ = true;
  parser_->eager(true);
  auto& message = parser_->get();
  if (beast::iequals(message.target().substr(0, 7), "http://")) {  // RFC 9112, section 3.2.2: as proxies are asked
    const std::string target(message.target());
    const size_t path = std::min(target.find_first_of("/?", 7), target.size());  // "http://host?query" has an empty one
    message.target((path < target.size() && target[path] == '/' ? "" : "/") + target.substr(path));
  }
  without_body_ = message.method() == http::verb::head;
  headers_.clear();
  for (const auto& field : message) {
    headers_.emplace_back(lower({field.name_string().data(), field.name_string().size()}), std::string(field.value()));
  }
  const auto fail = [this](int status, std::string_view reason) {
    refuse(status, reason);
    return false;
  };
  if (message.version() != 10 && message.version() != 11)
    return fail(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  if (message.version() == 11 && message.count(http::field::host) != 1)
    return fail(400, "exactly one Host header is due");
  if (message.count(http::field::transfer_encoding) > 0) {
    if (message.version() == 10) return fail(400, "HTTP/1.0 has no Transfer-Encoding");
    if (message.count(http::field::transfer_encoding) > 1 ||
        !beast::iequals(message[http::field::transfer_encoding], "chunked")) {
      return fail(501, "the only known transfer encoding is chunked");
    }
    if (message.count(http::field::content_length) > 0) return fail(400, "Content-Length beside Transfer-Encoding");
  }
  if (message.target().empty() || message.target().front() != '/') return fail(400, "the target has to be a path");
  arm_read_timer(host_.options.body_timeout);
  if (!reserve_body()) return false;
  const bool waits = !parser_->is_done() && input_.size() == 0;
  if (waits && beast::iequals(message[http::field::expect], "100-continue")) {
    pending_ += "HTTP/1.1 100 Continue\r\n\r\n";
    flush();
  }
  return true;
}

// Bodies of all connections together have a budget; a declared length counts at once, a chunked body as it grows.
bool Connection::reserve_body() {
  if (!header_accepted_) return true;
  const size_t declared = parser_->content_length().value_or(0);
  const size_t need = std::max<size_t>(declared, parser_->get().body().size());
  if (need <= reserved_body_bytes_) return true;
  const size_t more = need - reserved_body_bytes_;
  if (host_.body_bytes.fetch_add(more) + more > host_.options.max_total_body_bytes) {
    host_.body_bytes.fetch_sub(more);
    refuse(503, "too many request bodies at once");
    return false;
  }
  reserved_body_bytes_ = need;
  return true;
}

void Connection::release_body() {
  host_.body_bytes.fetch_sub(reserved_body_bytes_);
  reserved_body_bytes_ = 0;
}

// ---- handing over ----

namespace {

class Exchange final : public Responder {
 public:
  Exchange(std::shared_ptr<Connection> connection, uint64_t serial)
      : connection_(std::move(connection)), serial_(serial) {}
  ~Exchange() override {
    const MemoryReserve::Essential essential;  // an answer that nobody owes any more would leave the client waiting
    if (!connection_->host_destroyed()) run([serial = serial_](Connection& c) { c.abandon(serial); });
  }

  void reply(ServerResponse response) override {
    run([serial = serial_, response = std::move(response)](Connection& c) { c.reply(serial, response); });
  }
  void begin(int status, std::string content_type, Headers headers) override {
    run([serial = serial_, status, content_type = std::move(content_type),
         headers = std::move(headers)](Connection& c) { c.begin(serial, status, content_type, headers); });
  }
  void write(std::string bytes) override {
    run([serial = serial_, bytes = std::move(bytes)](Connection& c) { c.write(serial, bytes); });
  }
  void end() override {
    run([serial = serial_](Connection& c) { c.end(serial); });
  }
  void break_off() override {
    run([serial = serial_](Connection& c) { c.break_off(serial); });
  }
  void on_gone(std::function<void()> callback) override {
    run([serial = serial_, callback = std::move(callback)](Connection& c) { c.on_gone(serial, callback); });
  }
  void on_quiet(std::chrono::milliseconds quiet, std::function<void()> callback) override {
    run([serial = serial_, quiet, callback = std::move(callback)](Connection& c) {
      c.on_quiet(serial, quiet, callback);
    });
  }
  void post(std::function<void()> work) override {
    run([work = std::move(work)](Connection&) { work(); });
  }

 private:
  template <typename Work>
  void run(Work work) {
    // Always through the queue: running at once on the strand would overtake what other threads have queued.
    asio::post(connection_->executor(), [connection = connection_, work = std::move(work)]() mutable {
      connection->survive([&] { work(*connection); });
    });
  }

  std::shared_ptr<Connection> connection_;
  uint64_t serial_;
};

}  // namespace

void Connection::hand_over() {
  phase_ = Phase::kAnswering;
  ++serial_;
  read_timer_.cancel();
  auto message = parser_->release();
  keep_alive_ = message.keep_alive() && !host_.stopping.load();
  ServerRequest request;
  request.method = std::string(message.method_string());
  const std::string_view target(message.target().data(), message.target().size());
  const size_t mark = target.find('?');
  request.path = std::string(target.substr(0, mark));
  path_ = request.path;
  if (mark != std::string_view::npos) request.query = std::string(target.substr(mark + 1));
  request.headers = std::move(headers_);
  chunked_ = message.version() == 11;
  request.body = std::move(message.body());
  request.peer = peer_;
  host_.handler(std::move(request), std::make_shared<Exchange>(shared_from_this(), serial_));
}

void Connection::refuse(int status, std::string_view reason) {
  if (phase_ == Phase::kReading) {
    path_.clear();
    if (parser_) path_ = std::string(parser_->get().target());
    path_.resize(std::min(path_.size(), path_.find('?')));
  }
  host_.bad_requests.fetch_add(1);
  phase_ = Phase::kAnswering;
  ++serial_;
  read_timer_.cancel();
  keep_alive_ = false;
  const auto& make = host_.options.error_response;
  reply(serial_, make ? make(status, reason, path_) : ServerResponse{status, "text/plain", std::string(reason) + "\n", {}});
}

void Connection::on_no_memory() {
  const MemoryReserve::Essential essential;
  host_.out_of_memory.fetch_add(1);
  const auto gone = std::exchange(on_gone_, nullptr);
  if (phase_ == Phase::kReading || (phase_ == Phase::kAnswering && !head_written_)) {
    gone_ = phase_ == Phase::kAnswering;
    parser_.reset();  // with what has come of the body
    release_body();
    refuse(503, "there is no memory for this request now");
  } else {
    drop();  // part of its answer is lost
  }
  if (gone) gone();
  MemoryReserve::refill();
}

// ---- timers ----

void Connection::arm_read_timer(std::chrono::milliseconds timeout) {
  read_timer_.expires_after(timeout);
  read_timer_.async_wait([weak = weak_from_this()](ErrorCode error) {
    const auto self = weak.lock();
    // A timer that expired just before it was set again still calls: the new deadline decides.
    if (error || !self || self->read_timer_.expiry() > std::chrono::steady_clock::now()) return;
    self->on_read_timeout();
  });
}

void Connection::on_read_timeout() {
  if (phase_ == Phase::kReading) return refuse(408, "the request took too long to arrive");
  if (phase_ == Phase::kIdle || phase_ == Phase::kLingering) close();
}

// Looks whether it has been quiet, and again when it could have been.
void Connection::arm_quiet_timer(uint64_t serial, std::chrono::milliseconds quiet,
                                 std::chrono::steady_clock::time_point when) {
  quiet_timer_.expires_at(when);
  quiet_timer_.async_wait([weak = weak_from_this(), serial, quiet](ErrorCode error) {
    const auto self = weak.lock();
    if (error || !self || !self->current(serial) || self->ended_ || !self->on_quiet_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now >= self->last_write_ + quiet) {
      self->last_write_ = now;
      self->survive([&] { self->on_quiet_(); });
    }
    self->arm_quiet_timer(serial, quiet, self->last_write_ + quiet);
  });
}

void Connection::arm_write_timer() {
  write_timer_.expires_after(host_.options.write_timeout);
  write_timer_.async_wait([weak = weak_from_this()](ErrorCode error) {
    const auto self = weak.lock();
    if (error || !self || !self->writing_ || self->write_timer_.expiry() > std::chrono::steady_clock::now()) return;
    self->host_.slow_readers.fetch_add(1);
    self->drop();
  });
}

}  // namespace brio::net
