// RoutesTest: a server on a free port with a fake backend behind it, for tests of routes.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/raw_client.h"
#include "server/fake_backend.h"
#include "server/routes.h"

namespace brio::server {

inline std::string request(const std::string& method, const std::string& path, const std::string& body = "",
                           const std::string& headers = "") {
  return fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", method, path, headers, body.size(),
                     body);
}

constexpr const char* kChatPath = "/v1/chat/completions";

inline std::string chat(const std::string& more = "") {
  return request("POST", kChatPath, R"({"model":"fake","messages":[{"role":"user","content":"hi"}])" + more + "}");
}

// One answer of one choice: 3 prompt tokens, 2 generated ones.
inline void answer(api::EventSink& sink, std::vector<std::string> pieces) {
  sink.on_event(api::Started{3, 0});
  for (std::string& piece : pieces) sink.on_event(api::Delta{0, std::move(piece), {}});
  sink.on_event(api::Finish{0, api::FinishReason::kStop, ""});
  api::Done done;
  done.usage.prompt_tokens = 3;
  done.usage.completion_tokens = 2;
  sink.on_event(done);
}

class RoutesTest : public ::testing::Test {
 protected:
  explicit RoutesTest(net::HttpServerOptions options = {}, std::chrono::milliseconds keep_alive = kKeepAlive)
      : routes([] { return std::string("metric 1\n"); }, {}, keep_alive) {
    options.error_response = Routes::error_response;
    auto listening = net::HttpServer::listen(
        std::move(options), [this](auto request, auto responder) { routes.handle(std::move(request), responder); });
    server = std::move(listening).value();
    routes.serve(backend);
  }
  ~RoutesTest() override { backend->join(); }

  net::RawClient::Answer ask(const std::string& text) {
    net::RawClient client(server->port());
    client.send(text);
    return client.read_answer();
  }
  static boost::json::object error_of(const net::RawClient::Answer& answer) {
    return boost::json::parse(answer.body).at("error").as_object();
  }

  std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>();
  Routes routes;
  std::unique_ptr<net::HttpServer> server;  // stops first
};

}  // namespace brio::server
