#include "net/http_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "base/sanitizers.h"
#include "net/raw_client.h"

namespace brio::net {
namespace {

using std::chrono::milliseconds;

// What a test's handler hands out to the test's own thread.
class Exchanges {
 public:
  void add(ServerRequest request, std::shared_ptr<Responder> responder) {
    std::lock_guard lock(mutex_);
    waiting_.emplace_back(std::move(request), std::move(responder));
    changed_.notify_all();
  }
  std::pair<ServerRequest, std::shared_ptr<Responder>> take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !waiting_.empty(); })) return {};
    auto out = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    return out;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<ServerRequest, std::shared_ptr<Responder>>> waiting_;
};

class Flag {
 public:
  void raise() {
    std::lock_guard lock(mutex_);
    raised_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return raised_; });
  }
  bool raised() {
    std::lock_guard lock(mutex_);
    return raised_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;
};

// Answers "METHOD path query body".
void echo(const ServerRequest& request, const std::shared_ptr<Responder>& responder) {
  responder->reply(
      {200, "text/plain", request.method + " " + request.path + " " + request.query + " " + request.body, {}});
}

std::unique_ptr<HttpServer> serve(HttpServerOptions options, Handler handler) {
  auto server = HttpServer::listen(std::move(options), std::move(handler));
  EXPECT_TRUE(server.ok()) << (server.ok() ? "" : server.error().message);
  return server.ok() ? std::move(server).value() : nullptr;
}

std::string get(const std::string& path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", path);
}
std::string post(const std::string& path, const std::string& body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", path, body.size(), body);
}

TEST(HttpServer, AnswersManyRequestsOnOneConnection) {
  auto server = serve({}, echo);
  RawClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send(post("/a?b=" + std::to_string(i), "body" + std::to_string(i)));
    const auto answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST /a b=" + std::to_string(i) + " body" + std::to_string(i));
  }
  EXPECT_EQ(server->stats().accepted, 1);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  auto server = serve({}, echo);
  RawClient client(server->port());
  std::string requests;
  for (int i = 0; i < 200; ++i) requests += fmt::format("\r\n{}", post(fmt::format("/{}", i), std::string(i, 'x')));
  client.send(requests);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(client.read_answer().body, fmt::format("POST /{}  {}", i, std::string(i, 'x')));
  }
}

TEST(HttpServer, PipelinedRequestsWaitForASlowAnswer) {
  Exchanges exchanges;
  auto server = serve({}, [&](auto request, auto responder) { exchanges.add(request, responder); });
  RawClient client(server->port());
  client.send(get("/one") + get("/two"));
  auto [first, first_responder] = exchanges.take();
  ASSERT_EQ(first.path, "/one");
  first_responder->reply({200, "text/plain", "1", {}});
  // The second is taken from the buffer while the read for the third, of the same size, is outstanding.
  auto [second, second_responder] = exchanges.take();
  ASSERT_EQ(second.path, "/two");
  client.send(get("/six"));
  second_responder->reply({200, "text/plain", "2", {}});
  auto [third, third_responder] = exchanges.take();
  ASSERT_EQ(third.path, "/six");
  third_responder->reply({200, "text/plain", "3", {}});
  for (const char* body : {"1", "2", "3"}) EXPECT_EQ(client.read_answer().body, body);
}

TEST(HttpServer, RequestsMayBeCutAnywhere) {
  auto server = serve({}, echo);
  const std::string request =
      "POST /cut HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
  for (size_t cut = 1; cut < request.size(); ++cut) {
    RawClient client(server->port());
    client.send(request.substr(0, cut));
    std::this_thread::yield();
    client.send(request.substr(cut));
    ASSERT_EQ(client.read_answer().body, "POST /cut  hello world") << cut;
  }
}

TEST(HttpServer, ExpectContinueIsAnsweredBeforeTheBody) {
  auto server = serve({}, echo);
  RawClient client(server->port());
  client.send("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_EQ(client.read_answer().body, "POST /e  ok");
}

TEST(HttpServer, HeadHasTheLengthButNoBody) {
  auto server = serve({}, echo);
  RawClient client(server->port());
  client.send("HEAD /h HTTP/1.1\r\nHost: x\r\n\r\n" + get("/next"));
  EXPECT_NE(client.read_until("\r\n\r\n").find("Content-Length: 9\r\n"), std::string::npos);
  EXPECT_EQ(client.read_answer().body, "GET /next  ");
}

TEST(HttpServer, TakesAWholeUrlAsTarget) {
  auto server = serve({}, echo);
  RawClient client(server->port());
  for (const auto& [target, seen] : {std::pair{"http://elsewhere:80/path", "/path "},
                                     {"http://elsewhere", "/ "},
                                     {"HTTP://elsewhere?a=/b", "/ a=/b"}}) {
    client.send(get(target));
    EXPECT_EQ(client.read_answer().body, fmt::format("GET {} ", seen));
  }
}

// RFC 9110, section 6.5.1: a field behind the body must not pass for one in front of it.
TEST(HttpServer, TrailersAreNoHeaders) {
  auto server = serve({}, [](const ServerRequest& request, const std::shared_ptr<Responder>& responder) {
    std::string names;
    for (const auto& [name, value] : request.headers) names += name + "=" + value + " ";
    responder->reply({200, "text/plain", names, {}});
  });
  RawClient client(server->port());
  const std::string request =
      "POST / HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nok\r\n0\r\nX-A: 2\r\nAuthorization: me\r\n\r\n";
  for (const size_t cut : {request.size(), request.find("2\r\nok"), request.find("0\r\nX-A")}) {
    client.send(request.substr(0, cut));
    client.send(request.substr(cut));
    EXPECT_EQ(client.read_answer().body, "host=x x-a=1 transfer-encoding=chunked ");
  }
}

TEST(HttpServer, RefusesWhatIsMalformedOrTooLarge) {
  HttpServerOptions options;
  options.max_body_bytes = 100;
  options.max_header_bytes = 1000;
  options.linger_timeout = milliseconds(100);
  auto server = serve(options, echo);
  const std::string big(101, 'x');
  const std::pair<std::string, int> cases[] = {
      {"\x16\x03\x01\x02\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET ftp://elsewhere/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(4000, 'a'), 400},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(2000, 'y') + "\r\n\r\n", 431},
      {post("/", big), 413},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + big + "\r\n0\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
  };
  for (const auto& [request, status] : cases) {
    RawClient client(server->port());
    client.send(request);
    const auto answer = client.read_answer();
    EXPECT_EQ(answer.status, status) << request.substr(0, 120);
    EXPECT_TRUE(answer.complete);
    EXPECT_NE(answer.head.find("Connection: close"), std::string::npos);
    EXPECT_EQ(client.read_to_end(), "") << "nothing of the rest is taken for another request";
  }
  EXPECT_EQ(server->stats().bad_requests, static_cast<int64_t>(std::size(cases)));
}

TEST(HttpServer, BodiesShareABudget) {
  HttpServerOptions options;
  options.max_body_bytes = 1000;
  options.max_total_body_bytes = 1500;
  auto server = serve(options, echo);
  RawClient first(server->port());
  first.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(first.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n") << "its share is taken";
  const std::string body(1000, 'x');
  RawClient second(server->port());
  second.send(post("/", body));
  EXPECT_EQ(second.read_answer().status, 503);
  RawClient growing(server->port());
  growing.send(fmt::format("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n{}\r\n", body));
  EXPECT_EQ(growing.read_answer().status, 503);
  first.send(body);
  EXPECT_EQ(first.read_answer().status, 200);
  first.send(post("/", body));
  EXPECT_EQ(first.read_answer().status, 200) << "the share is given back";
}

TEST(HttpServer, UnfinishedRequestsAndIdleConnectionsEnd) {
  HttpServerOptions options;
  options.header_timeout = milliseconds(50);
  options.body_timeout = milliseconds(50);
  options.idle_timeout = milliseconds(50);
  options.linger_timeout = milliseconds(50);
  auto server = serve(options, echo);
  RawClient half_header(server->port());
  half_header.send("GET / HTTP/1.1\r\nHos");
  EXPECT_EQ(half_header.read_answer().status, 408);
  RawClient half_body(server->port());
  half_body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(half_body.read_answer().status, 408);
  RawClient idle(server->port());
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_FALSE(idle.timed_out());
  RawClient used(server->port());
  used.send(get("/"));
  EXPECT_EQ(used.read_answer().status, 200);
  EXPECT_EQ(used.read_to_end(), "");
  EXPECT_FALSE(used.timed_out());
}

TEST(HttpServer, StreamsInChunks) {
  auto server = serve({}, [](auto, auto responder) {
    responder->begin(200, "text/event-stream", {{"X-Id", "a\r\nInjected: yes"}});
    for (int i = 0; i < 5; ++i) responder->write("piece " + std::to_string(i) + "\n");
    responder->write("");
    responder->end();
    responder->write("after the end");
  });
  RawClient client(server->port());
  for (int round = 0; round < 2; ++round) {
    client.send(get("/"));
    const auto answer = client.read_answer();
    EXPECT_TRUE(answer.complete);
    EXPECT_EQ(answer.body, "piece 0\npiece 1\npiece 2\npiece 3\npiece 4\n");
    EXPECT_NE(answer.head.find("X-Id: a??Injected: yes\r\n"), std::string::npos) << answer.head;
  }
}

TEST(HttpServer, CallsBackWhileItIsQuiet) {
  Exchanges exchanges;
  auto server = serve({}, [&](auto request, auto responder) { exchanges.add(request, responder); });
  RawClient client(server->port());
  client.send(get("/"));
  auto [request, responder] = exchanges.take();
  responder->begin(200, "text/plain", {});
  std::atomic<int> calls{0};
  responder->on_quiet(milliseconds(5), [&calls, weak = std::weak_ptr(responder)] {
    ++calls;
    if (const auto strong = weak.lock()) strong->write("still here;");
  });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.read_until("still here;").ends_with("still here;"));
  responder->write("done");
  responder->end();
  EXPECT_TRUE(client.read_until("0\r\n\r\n").find("done") != std::string::npos);
  responder.reset();
  server->stop(milliseconds(5'000));
  EXPECT_GE(calls.load(), 3);
}

TEST(HttpServer, ErrorsKnowThePath) {
  HttpServerOptions options;
  options.max_body_bytes = 10;
  options.error_response = [](int status, std::string_view /*reason*/, std::string_view path) {
    return ServerResponse{status, "text/plain", fmt::format("<{}>", path), {}};
  };
  auto server = serve(options, [](auto, auto) { /* forgotten */ });
  const auto body_of = [&](const std::string& request) {
    RawClient client(server->port());
    client.send(request);
    return client.read_answer().body;
  };
  EXPECT_EQ(body_of(post("/large?x=1", std::string(20, 'x'))), "</large>");
  EXPECT_EQ(body_of(get("/forgotten?x=1")), "</forgotten>");
  EXPECT_EQ(body_of("nonsense\r\n\r\n"), "<>");
}

TEST(HttpServer, Http10StreamsEndWithTheConnection) {
  auto server = serve({}, [](auto, auto responder) {
    responder->begin(200, "text/plain", {});
    responder->write("one ");
    responder->write("two");
    responder->end();
  });
  RawClient client(server->port());
  client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.body, "one two");
  EXPECT_NE(answer.head.find("Connection: close"), std::string::npos);
}

TEST(HttpServer, BrokenOffStreamsLackTheEndMark) {
  auto server = serve({}, [](auto, auto responder) {
    responder->begin(200, "text/plain", {});
    responder->write("half");
    responder->break_off();
  });
  RawClient client(server->port());
  client.send(get("/"));
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.body, "half");
  EXPECT_FALSE(answer.complete);
}

TEST(HttpServer, ForgottenRequestsAreAnswered) {
  auto server = serve({}, [](const ServerRequest& request, const std::shared_ptr<Responder>& responder) {
    if (request.path == "/stream") {
      responder->begin(200, "text/plain", {});
      responder->write("half");
    }
  });
  RawClient client(server->port());
  client.send(get("/"));
  EXPECT_EQ(client.read_answer().status, 500);
  RawClient streaming(server->port());
  streaming.send(get("/stream"));
  const auto answer = streaming.read_answer();
  EXPECT_EQ(answer.body, "half");
  EXPECT_FALSE(answer.complete);
}

TEST(HttpServer, NoticesAClientThatLeavesBeforeAnyAnswer) {
  Exchanges exchanges;
  auto server = serve({}, [&](auto request, auto responder) { exchanges.add(request, responder); });
  for (const bool half_close : {false, true}) {
    RawClient client(server->port());
    client.send(get("/"));
    auto [request, responder] = exchanges.take();
    Flag gone;
    responder->on_gone([&] { gone.raise(); });
    half_close ? client.half_close() : client.close();
    EXPECT_TRUE(gone.wait());
    responder->reply({200, "text/plain", "too late", {}});
    Flag late;
    responder->on_gone([&] { late.raise(); });
    EXPECT_TRUE(late.wait()) << "who asks after the fact is told at once";
  }
  EXPECT_EQ(server->stats().gone, 2);
}

// More than is read ahead lies in the socket, so that its end is never reached.
TEST(HttpServer, NoticesAClientThatLeavesBehindUnreadBytes) {
  Exchanges exchanges;
  auto server = serve({}, [&](auto request, auto responder) { exchanges.add(request, responder); });
  RawClient client(server->port());
  client.send(get("/") + std::string(90'000, 'x'));
  auto [request, responder] = exchanges.take();
  Flag gone;
  responder->on_gone([&] { gone.raise(); });
  client.close();
  EXPECT_TRUE(gone.wait());
}

TEST(HttpServer, NoticesAClientThatLeavesMidStream) {
  Exchanges exchanges;
  auto server = serve({}, [&](auto request, auto responder) { exchanges.add(request, responder); });
  RawClient client(server->port());
  client.send(get("/") + get("/pipelined"));
  auto [request, responder] = exchanges.take();
  Flag gone;
  responder->on_gone([&] { gone.raise(); });
  responder->begin(200, "text/plain", {});
  responder->write("hello");
  client.read_until("hello");
  client.close();
  EXPECT_TRUE(gone.wait());
}

TEST(HttpServer, OnGoneStaysSilentWhenTheAnswerIsComplete) {
  std::atomic<int> called{0};
  auto server = serve({}, [&](auto, auto responder) {
    responder->on_gone([&] { called.fetch_add(1); });
    responder->reply({200, "text/plain", "done", {}});
  });
  {
    RawClient client(server->port());
    client.send(get("/"));
    EXPECT_EQ(client.read_answer().body, "done");
  }
  server->stop(milliseconds(1000));
  EXPECT_EQ(called, 0);
  EXPECT_EQ(server->stats().gone, 0);
}

TEST(HttpServer, AFinishedAnswerReachesAClientThatClosedItsSide) {
  const std::string large(8 << 20, 'z');
  auto server = serve({}, [&](auto, auto responder) { responder->reply({200, "text/plain", large, {}}); });
  RawClient client(server->port());
  client.send(get("/"));
  client.half_close();
  EXPECT_EQ(client.read_answer().body.size(), large.size());
}

TEST(HttpServer, OneLargePieceIsNoSlowReader) {
  HttpServerOptions options;
  options.max_pending_write_bytes = 1000;
  const std::string piece(200'000, 'x');
  auto server = serve(options, [&](const auto&, const auto& responder) {
    responder->begin(200, "text/plain", {});
    responder->write(piece);
    responder->end();
  });
  RawClient client(server->port());
  client.send(get("/"));
  EXPECT_EQ(client.read_answer().body, piece);
  EXPECT_EQ(server->stats().slow_readers, 0);
}

// More pieces at once than any reader could have read between them.
TEST(HttpServer, ABurstIsNoSlowReader) {
  HttpServerOptions options;
  options.max_pending_write_bytes = 1000;
  constexpr int kPieces = 100;
  const std::string piece(100'000, 'x');
  auto server = serve(options, [&](const auto&, const auto& responder) {
    responder->begin(200, "text/plain", {});
    for (int i = 0; i < kPieces; ++i) responder->write(piece);
    responder->end();
  });
  RawClient client(server->port());
  client.send(get("/"));
  EXPECT_EQ(client.read_answer().body.size(), kPieces * piece.size());
  EXPECT_EQ(server->stats().slow_readers, 0);
}

TEST(HttpServer, DropsAReaderThatStaysBehind) {
  HttpServerOptions options;
  options.max_pending_write_bytes = 1000;
  options.behind_timeout = milliseconds(50);
  options.send_buffer_bytes = 4 << 10;
  Exchanges exchanges;
  auto server = serve(options, [&](auto request, auto responder) { exchanges.add(request, responder); });
  RawClient client(server->port(), 4 << 10);
  client.send(get("/"));
  auto [request, responder] = exchanges.take();
  Flag gone;
  responder->on_gone([&] { gone.raise(); });
  responder->begin(200, "text/plain", {});
  responder->write(std::string(1 << 20, 'x'));
  for (int i = 0; i < 1000 && !gone.raised(); ++i) {
    responder->write("more");
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(gone.raised());
  EXPECT_EQ(server->stats().slow_readers, 1);
}

TEST(HttpServer, DropsAReaderThatLetsTooMuchPileUp) {
  HttpServerOptions options;
  options.max_pending_write_bytes = 64 << 10;
  options.max_burst_bytes = 1 << 20;
  options.send_buffer_bytes = 4 << 10;
  Exchanges exchanges;
  auto server = serve(options, [&](auto request, auto responder) { exchanges.add(request, responder); });
  RawClient client(server->port(), 4 << 10);
  client.send(get("/"));
  auto [request, responder] = exchanges.take();
  Flag gone;
  responder->on_gone([&] { gone.raise(); });
  responder->begin(200, "text/plain", {});
  for (int i = 0; i < 10'000 && !gone.raised(); ++i) responder->write(std::string(1000, 'x'));  // never blocks
  EXPECT_TRUE(gone.wait());
  EXPECT_EQ(server->stats().slow_readers, 1);
}

TEST(HttpServer, DropsAReaderThatStopsReading) {
  HttpServerOptions options;
  options.send_buffer_bytes = 4 << 10;
  options.write_timeout = milliseconds(100);
  Flag gone;
  auto server = serve(options, [&](auto, auto responder) {
    responder->on_gone([&] { gone.raise(); });
    responder->reply({200, "text/plain", std::string(4 << 20, 'x'), {}});
  });
  RawClient client(server->port(), 4 << 10);
  client.send(get("/"));
  EXPECT_TRUE(gone.wait());
  EXPECT_EQ(server->stats().slow_readers, 1);
}

TEST(HttpServer, RefusesConnectionsOverTheLimitAndRecovers) {
  HttpServerOptions options;
  options.max_connections = 2;
  auto server = serve(options, echo);
  auto first = std::make_unique<RawClient>(server->port());
  RawClient second(server->port());
  first->send(get("/1"));
  second.send(get("/2"));
  EXPECT_EQ(first->read_answer().status, 200);
  EXPECT_EQ(second.read_answer().status, 200);
  RawClient third(server->port());
  EXPECT_EQ(third.read_answer().status, 503);
  first.reset();
  int status = 503;
  for (int i = 0; i < 1000 && status == 503; ++i) {
    RawClient next(server->port());
    next.send(get("/3"));
    status = next.read_answer().status;
  }
  EXPECT_EQ(status, 200);
}

TEST(HttpServer, ManyStreamsAtOnceStayWhole) {
  auto server = serve({}, [](const ServerRequest& request, const std::shared_ptr<Responder>& responder) {
    std::thread([path = request.path, responder] {
      responder->begin(200, "text/plain", {});
      for (int i = 0; i < 200; ++i) responder->write(path + ":" + std::to_string(i) + "\n");
      responder->end();
    }).detach();
  });
  constexpr int kClients = 32;
  std::vector<std::thread> clients;
  clients.reserve(kClients);
  std::atomic<int> whole{0};
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      const std::string path = "/" + std::to_string(c);
      std::string expected;
      for (int i = 0; i < 200; ++i) expected += path + ":" + std::to_string(i) + "\n";
      RawClient client(server->port());
      for (int round = 0; round < 3; ++round) {
        client.send(get(path));
        const auto answer = client.read_answer();
        if (answer.complete && answer.body == expected) whole.fetch_add(1);
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(whole, kClients * 3);
}

// Whatever runs on the strand may run out of memory: the one client hears of it, the others are served.
TEST(HttpServer, AHandlerWithoutMemoryFailsItsOwnRequest) {
  auto server = serve({}, [](const ServerRequest& request, const std::shared_ptr<Responder>& responder) {
    if (request.path == "/handler") throw std::bad_alloc();
    if (request.path == "/posted") responder->post([responder] { throw std::bad_alloc(); });
    if (request.path != "/streaming") return responder->reply({200, "text/plain", "fine", {}});
    responder->begin(200, "text/plain", {});
    responder->write("half");
    responder->post([responder] { throw std::bad_alloc(); });
    responder->end();
  });
  for (const char* path : {"/handler", "/posted"}) {
    RawClient client(server->port());
    client.send(get(path));
    const auto answer = client.read_answer();
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_TRUE(answer.complete);
  }
  RawClient streaming(server->port());
  streaming.send(get("/streaming"));
  EXPECT_FALSE(streaming.read_answer().complete) << "part of it is lost: it must not look whole";
  RawClient next(server->port());
  next.send(get("/"));
  EXPECT_EQ(next.read_answer().body, "fine");
  EXPECT_EQ(server->stats().out_of_memory, 3);
}

// Takes every descriptor below the limit, then all but one.
TEST(HttpServer, WithoutDescriptorsClientsAreRefusedInWords) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs descriptors too";
  auto server = serve({}, echo);
  RawClient first(server->port());
  first.send(get("/1"));
  EXPECT_EQ(first.read_answer().status, 200);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next_free = dup(0);
  ASSERT_GE(next_free, 0);
  close(next_free);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next_free) + 1;  // the client's own socket, none for the server's
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  {
    RawClient second(server->port());
    second.send(get("/2"));
    EXPECT_EQ(second.read_answer().status, 503);
    first.send(get("/1"));
    EXPECT_EQ(first.read_answer().status, 200) << "who has a connection is served on";
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  int status = 503;  // of who comes while the server still handles an accept that failed before
  for (int tries = 0; tries < 2 && status != 200; ++tries) {
    RawClient next(server->port());
    next.send(get("/3"));
    status = next.read_answer().status;
  }
  EXPECT_EQ(status, 200);
  EXPECT_GE(server->stats().refused, 1);
}

TEST(HttpServer, StopLetsAnswersUnderWayFinish) {
  Exchanges exchanges;
  HttpServerOptions options;
  options.linger_timeout = milliseconds(50);
  auto server = serve(options, [&](auto request, auto responder) { exchanges.add(request, responder); });
  const int port = server->port();
  RawClient idle(port);
  RawClient busy(port);
  busy.send(get("/"));
  auto [request, responder] = exchanges.take();
  responder->begin(200, "text/plain", {});
  std::thread stopper([&] { server->stop(std::chrono::seconds(20)); });
  EXPECT_EQ(idle.read_to_end(), "") << "idle connections close";
  responder->write("the rest");
  responder->end();
  const auto answer = busy.read_answer();
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body, "the rest");
  responder.reset();
  EXPECT_EQ(busy.read_to_end(), "");
  stopper.join();
  EXPECT_FALSE(RawClient(port).connected());
}

TEST(HttpServer, StopWithoutGraceClosesEverything) {
  Exchanges exchanges;
  auto server = serve({}, [&](auto request, auto responder) { exchanges.add(request, responder); });
  RawClient busy(server->port());
  busy.send(get("/"));
  auto [request, responder] = exchanges.take();
  Flag gone;
  responder->on_gone([&] { gone.raise(); });
  responder->begin(200, "text/plain", {});
  busy.read_until("\r\n\r\n");
  server->stop(milliseconds(0));
  EXPECT_TRUE(gone.raised());
  EXPECT_EQ(busy.read_to_end(), "");
}

TEST(HttpServer, AnAddressInUseIsAnError) {
  auto server = serve({}, echo);
  HttpServerOptions options;
  options.port = server->port();
  const auto second = HttpServer::listen(options, echo);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("127.0.0.1:" + std::to_string(server->port())), std::string::npos);
  options.host = "no.such.host.invalid";
  EXPECT_EQ(HttpServer::listen(options, echo).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace brio::net
