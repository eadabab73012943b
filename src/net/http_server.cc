#include "net/http_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <thread>

#include "net/http_connection.h"

namespace brio::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using SystemError = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{50};  // after a failed accept (no descriptors left): try again later

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
  std::vector<std::thread> threads;
  int port = 0;
  bool stopped = false;

  Result<void> bind();
  void accept();
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
  acceptor.async_accept(asio::make_strand(io), [this](SystemError failure, tcp::socket socket) {
    if (host.stopping.load() || failure == asio::error::operation_aborted) return;
    if (failure) {
      accept_timer.expires_after(kAcceptPause);
      accept_timer.async_wait([this](SystemError aborted) {
        if (!aborted) accept();
      });
      return;
    }
    on_socket(std::move(socket));
    accept();
  });
}

void HttpServer::State::on_socket(tcp::socket socket) {
  if (host.open() < host.options.max_connections) {
    host.accepted.fetch_add(1);
    std::make_shared<Connection>(std::move(socket), host)->start();
    return;
  }
  host.refused.fetch_add(1);
  static constexpr std::string_view kFull =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  SystemError ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(kFull.data(), kFull.size()), ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
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
  for (int i = 0; i < state->host.options.num_threads; ++i) {
    state->threads.emplace_back([&io = state->io] { io.run(); });
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
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
  return {host.accepted, host.open(), host.refused, host.slow_readers, host.gone, host.bad_requests};
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
