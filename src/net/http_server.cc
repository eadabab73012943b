#include "net/http_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <new>
#include <thread>
#include <utility>

#include "base/memory_reserve.h"
#include "net/http_connection.h"

namespace brio::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using SystemError = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{50};  // after a failed accept: try again later

// What a server without room says. The request that has come is read first: closing over unread bytes would reset the
// connection, and the client might never see the answer.
void refuse(int socket) {
  static constexpr std::string_view kFull =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  constexpr int kReads = 16;  // of 4 KB: longer requests take their chance
  char request[4096];
  for (int i = 0; i < kReads && recv(socket, request, sizeof request, MSG_DONTWAIT) > 0; ++i) {
  }
  send(socket, kFull.data(), kFull.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  shutdown(socket, SHUT_WR);
}

// A descriptor to give up when none is left, so that the next client is refused in words instead of left waiting.
class SpareDescriptor {
 public:
  SpareDescriptor() { take(); }
  ~SpareDescriptor() { give(); }
  SpareDescriptor(const SpareDescriptor&) = delete;
  SpareDescriptor& operator=(const SpareDescriptor&) = delete;

  // False when nobody waits or another thread was faster.
  bool refuse_one(int listener) {
    give();
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) {
      refuse(socket);
      close(socket);
    }
    take();
    return socket >= 0;
  }

 private:
  void take() { spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC); }
  void give() {
    if (spare_ >= 0) close(std::exchange(spare_, -1));
  }
  int spare_ = -1;
};

}  // namespace

std::string_view ServerRequest::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

struct HttpServer::State {
  ConnectionHost host;  // outlives the connections, which die with io
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  tcp::acceptor acceptor{io};
  asio::steady_timer accept_timer{io};
  SpareDescriptor spare;
  std::vector<std::thread> threads;
  int port = 0;
  bool stopped = false;

  Result<void> bind();
  void accept();
  void on_accept_failure(SystemError failure);
  void run();
  void on_socket(tcp::socket socket);
  std::vector<std::shared_ptr<Connection>> connections();
};

Result<void> HttpServer::State::bind() {
  const HttpServerOptions& options = host.options;
  if (options.host.empty()) return error(ErrorCode::kInvalidArgument, "'host' is empty; 0.0.0.0 is every interface");
  SystemError failure;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, failure);
  if (failure || found.empty()) {
    return error(ErrorCode::kInvalidArgument, "'host': cannot resolve '{}': {}", options.host, failure.message());
  }
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), failure);
  if (!failure) acceptor.set_option(asio::socket_base::reuse_address(true), failure);
  if (!failure) acceptor.bind(endpoint, failure);
  if (!failure) acceptor.listen(asio::socket_base::max_listen_connections, failure);
  if (failure) {
    return error(ErrorCode::kIo, "cannot listen on {}:{}: {}", options.host, options.port, failure.message());
  }
  port = acceptor.local_endpoint().port();
  return {};
}

void HttpServer::State::accept() {
  const MemoryReserve::Essential essential;  // nothing else would accept the next one
  acceptor.async_accept(asio::make_strand(io), [this](SystemError failure, tcp::socket socket) {
    if (host.stopping.load() || failure == asio::error::operation_aborted) return;
    if (failure) return on_accept_failure(failure);
    try {
      on_socket(std::move(socket));
    } catch (const std::bad_alloc&) {
      host.refused.fetch_add(1);
    }
    accept();
  });
}

void HttpServer::State::on_accept_failure(SystemError failure) {
  const bool full = failure.value() == EMFILE || failure.value() == ENFILE;
  if (full && spare.refuse_one(acceptor.native_handle())) {
    host.refused.fetch_add(1);
    return accept();
  }
  accept_timer.expires_after(kAcceptPause);
  accept_timer.async_wait([this](SystemError aborted) {
    if (!aborted) accept();
  });
}

void HttpServer::State::on_socket(tcp::socket socket) {
  if (host.open() < host.options.max_connections) {
    host.accepted.fetch_add(1);
    std::make_shared<Connection>(std::move(socket), host)->start();
    return;
  }
  host.refused.fetch_add(1);
  refuse(socket.native_handle());
}

void HttpServer::State::run() {
  MemoryReserve::this_thread_may_fail();
  while (true) {
    try {
      return static_cast<void>(io.run());
    } catch (const std::bad_alloc&) {  // of a handler outside Connection::survive: its connection goes with it
      host.out_of_memory.fetch_add(1);
    }
  }
}

std::vector<std::shared_ptr<Connection>> HttpServer::State::connections() {
  std::lock_guard lock(host.mutex);
  std::vector<std::shared_ptr<Connection>> out;
  for (Connection* connection : host.connections) {
    if (auto shared = connection->weak_from_this().lock()) out.push_back(std::move(shared));
  }
  return out;
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(HttpServerOptions options, Handler handler) {
  auto state = std::make_unique<State>();
  state->host.options = std::move(options);
  state->host.handler = std::move(handler);
  BRIO_TRY_OK(state->bind());
  state->accept();
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(state)));  // stops the first threads if a later one fails
  State& started = *server->state_;
  for (int i = 0; i < started.host.options.num_threads; ++i) {
    started.threads.emplace_back([&started] { started.run(); });
  }
  return server;
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  stop(std::chrono::milliseconds(0));
}

int HttpServer::port() const {
  return state_->port;
}

HttpServerStats HttpServer::stats() const {
  ConnectionHost& host = state_->host;
  return {host.accepted, host.open(),       host.refused,      host.slow_readers,
          host.gone,     host.bad_requests, host.out_of_memory};
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  if (state_->stopped) return;
  state_->stopped = true;
  state_->host.stopping = true;
  asio::post(state_->acceptor.get_executor(), [state = state_.get()] {
    SystemError ignored;
    state->acceptor.close(ignored);
    state->accept_timer.cancel();
  });
  for (const auto& connection : state_->connections()) connection->close_idle();
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (state_->host.open() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (const auto& connection : state_->connections()) connection->close_now();
  state_->work.reset();
  // Every connection is closed and no timer runs: run() returns once the last handlers have.
  for (std::thread& thread : state_->threads) thread.join();
  state_->host.destroyed = true;
}

}  // namespace brio::net
