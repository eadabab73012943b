// HttpServer: HTTP/1.1 for a program that answers slowly and in pieces. First on the path of a request, it knows
// nothing of models. Every limit that keeps a hostile or stuck peer from costing more than its share is set here.
//
//   BRIO_TRY(auto server, HttpServer::listen(options, [](ServerRequest request, std::shared_ptr<Responder> responder) {
//     responder->reply({200, "text/plain", "hello\n"});
//   }));
//
// Threads: a few run all connections; each connection is a strand. The handler runs on its connection's strand and must
// not block. Responder members may be called from any thread; calls after the client has gone do nothing. A client that
// closes its side while an answer is due has gone (HTTP clients do not half-close). No Responder may be used after the
// server's destruction: stop whatever calls it first. What runs on a strand may throw std::bad_alloc: that costs the one
// connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace brio::net {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct ServerRequest {
  std::string method;  // "GET"
  std::string path;    // "/v1/models", not decoded
  std::string query;   // after '?'
  Headers headers;     // names in lower case
  std::string body;
  std::string peer;  // address of the client

  std::string_view header(std::string_view lower_case_name) const;  // empty when absent
};

struct ServerResponse {
  int status = 200;
  std::string content_type;
  std::string body;
  Headers headers;  // besides the framing ones, which the server adds
};

// How to answer one request: reply() once, or begin(), write()..., then end() or break_off(). Dropping the last
// reference before an answer is complete answers 500, or breaks the stream off.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void reply(ServerResponse response) = 0;
  virtual void begin(int status, std::string content_type, Headers headers) = 0;
  virtual void write(std::string bytes) = 0;  // queued; a reader that lets too much pile up is dropped
  virtual void end() = 0;
  virtual void break_off() = 0;  // what was written goes out, then the connection closes without the end mark
  // Calls back once, on the strand, when the client goes before the answer is complete (at once if it has gone
  // already).
  virtual void on_gone(std::function<void()> callback) = 0;
  // Calls back, on the strand, each time nothing has been written for that long, until the answer is complete.
  virtual void on_quiet(std::chrono::milliseconds quiet, std::function<void()> callback) = 0;
  // Runs work on the connection's strand, in order, whether the client is there or not.
  virtual void post(std::function<void()> work) = 0;
};

using Handler = std::function<void(ServerRequest request, std::shared_ptr<Responder> responder)>;

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: the system chooses, see HttpServer::port
  int num_threads = 2;
  int max_connections = 1024;
  size_t max_header_bytes = 32 << 10;
  size_t max_body_bytes = 16 << 20;
  size_t max_total_body_bytes = 256 << 20;          // over all connections
  size_t max_pending_write_bytes = 1 << 20;         // queued for one reader; who lets more wait for longer than
  std::chrono::milliseconds behind_timeout{5'000};  // this is dropped at the next write,
  size_t max_burst_bytes = 16 << 20;                // at once beyond this
  int send_buffer_bytes = 0;                        // of the socket; 0: the system's choice
  std::chrono::milliseconds header_timeout{15'000};
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds idle_timeout{75'000};
  std::chrono::milliseconds write_timeout{30'000};  // without one byte of progress
  std::chrono::milliseconds linger_timeout{2'000};  // to let a client read the last answer before the close
  // Body of answers the server gives by itself (400, 408, 413, ...); plain text without it. path: of the request, empty
  // when it was not understood that far.
  std::function<ServerResponse(int status, std::string_view reason, std::string_view path)> error_response;
};

struct HttpServerStats {
  int64_t accepted = 0;
  int64_t open = 0;
  int64_t refused = 0;        // over max_connections
  int64_t slow_readers = 0;   // dropped: queue full or write timeout
  int64_t gone = 0;           // clients that left before their answer was complete
  int64_t bad_requests = 0;   // answered by the server itself
  int64_t out_of_memory = 0;  // requests that failed for want of memory
};

class HttpServer {
 public:
  // Binds and starts to answer. Errors: kInvalidArgument for an unknown host, kIo for an address in use.
  static Result<std::unique_ptr<HttpServer>> listen(HttpServerOptions options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  HttpServerStats stats() const;
  // Stops listening, closes idle connections, gives answers under way until the deadline, then closes the rest and
  // joins the threads. Not from a handler.
  void stop(std::chrono::milliseconds grace);

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace brio::net
