// Connection: one client socket of HttpServer, inside net only. A strand owns all of it.
//
// One read is always outstanding (unless the input buffer is full), so that a client that leaves is noticed while its
// answer is being made. Bytes go to the parser while a request is due and wait in the buffer while an answer is under
// way (pipelining).
//
//   idle --first byte--> reading --request complete--> answering --answer written--> idle, or lingering --> closed
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <unordered_set>

#include "net/http_server.h"

namespace brio::net {

class Connection;

// What the connections of one server share.
struct ConnectionHost {
  HttpServerOptions options;
  Handler handler;
  std::atomic<bool> stopping{false};   // finish the answer under way, then close
  std::atomic<bool> destroyed{false};  // threads are joined: nothing may be posted any more
  std::atomic<int64_t> accepted{0};
  std::atomic<int64_t> refused{0};
  std::atomic<int64_t> slow_readers{0};
  std::atomic<int64_t> gone{0};
  std::atomic<int64_t> bad_requests{0};
  std::atomic<int64_t> out_of_memory{0};
  std::atomic<size_t> body_bytes{0};
  std::mutex mutex;
  std::unordered_set<Connection*> connections;  // guarded by mutex

  int64_t open() {
    std::lock_guard lock(mutex);
    return static_cast<int64_t>(connections.size());
  }
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ConnectionHost& host);
  ~Connection();

  void start();       // any thread
  void close_idle();  // any thread: the server stops
  void close_now();   // any thread
  bool host_destroyed() const { return host_.destroyed.load(); }
  auto executor() { return socket_.get_executor(); }

  // The answer to request number `serial`, on the strand; a stale serial does nothing.
  void reply(uint64_t serial, const ServerResponse& response);
  void begin(uint64_t serial, int status, const std::string& content_type, const Headers& headers);
  void write(uint64_t serial, const std::string& bytes);
  void end(uint64_t serial);
  void break_off(uint64_t serial);
  void abandon(uint64_t serial);  // the last Responder is gone
  void on_gone(uint64_t serial, std::function<void()> callback);
  void on_quiet(uint64_t serial, std::chrono::milliseconds quiet, std::function<void()> callback);

  // On the strand: work that finds no memory fails this connection's request and nothing else.
  template <typename Work>
  void survive(Work&& work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      on_no_memory();
    }
  }

 private:
  enum class Phase { kIdle, kReading, kAnswering, kLingering, kClosed };
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using ErrorCode = boost::system::error_code;

  void read();
  void on_read(ErrorCode error, size_t num_bytes);
  void on_input_end(ErrorCode error);
  void feed();
  void begin_request();
  bool accept_header();  // false: refused
  bool reserve_body();   // false: refused
  void release_body();
  void hand_over();
  void refuse(int status, std::string_view reason);
  void on_no_memory();

  std::string head(int status, const std::string& content_type, const Headers& headers) const;
  bool is_too_slow();
  bool current(uint64_t serial) const { return serial == serial_ && phase_ == Phase::kAnswering; }
  void flush();
  void write_some(size_t offset);
  void on_written(ErrorCode error, size_t offset, size_t num_bytes);
  void finish_answer();
  void linger();
  void drop();  // the client has gone or is too slow
  void close();

  void watch_peer();
  void arm_read_timer(std::chrono::milliseconds timeout);
  void on_read_timeout();
  void arm_write_timer();
  void arm_quiet_timer(uint64_t serial, std::chrono::milliseconds quiet, std::chrono::steady_clock::time_point when);

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer read_timer_;
  boost::asio::steady_timer peer_timer_;
  boost::asio::steady_timer write_timer_;
  boost::asio::steady_timer quiet_timer_;
  ConnectionHost& host_;
  std::string peer_;
  Phase phase_ = Phase::kIdle;

  // The read writes here and not into input_, which is consumed while a read is outstanding.
  std::array<char, 16 << 10> arriving_;
  boost::beast::flat_buffer input_;
  std::optional<Parser> parser_;
  bool read_outstanding_ = false;
  bool input_ended_ = false;  // the client closed its side
  bool header_accepted_ = false;
  Headers headers_;  // of the request being read
  size_t reserved_body_bytes_ = 0;
  std::string path_;  // of the request being answered

  uint64_t serial_ = 0;  // of the request being answered
  bool head_written_ = false;
  bool chunked_ = false;
  bool ended_ = false;  // the answer's last byte is queued
  bool keep_alive_ = false;
  bool without_body_ = false;  // HEAD
  bool gone_ = false;
  std::string pending_;  // queued behind in_flight_
  std::string in_flight_;
  bool writing_ = false;
  std::optional<std::chrono::steady_clock::time_point> behind_since_;  // more waits than a good reader lets wait
  std::function<void()> on_gone_;
  std::function<void()> on_quiet_;
  std::chrono::steady_clock::time_point last_write_;
};

}  // namespace brio::net
