#include "server/routes_fixture.h"

namespace brio::server {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr const char* kPath = "/v1/messages";

std::string message(const std::string& more = "", const std::string& path = kPath) {
  return request("POST", path,
                 R"({"model":"fake","max_tokens":5,"messages":[{"role":"user","content":"hi"}])" + more + "}");
}

class AnthropicRoutes : public RoutesTest {};

TEST_F(AnthropicRoutes, AWholeMessage) {
  backend->respond = [](const FakeBackend::Started& call) { answer(*call.sink, {"Hel", "lo"}); };
  const auto got = ask(message());
  EXPECT_EQ(got.status, 200);
  EXPECT_NE(got.head.find("request-id: req_"), std::string::npos);
  const json::value body = json::parse(got.body);
  EXPECT_TRUE(std::string(body.at("id").as_string()).starts_with("msg_"));
  EXPECT_EQ(body.at("content").at(0).at("text").as_string(), "Hello");
  EXPECT_EQ(body.at("model").as_string(), "fake");
  EXPECT_EQ(body.at("usage").at("input_tokens"), 3);
}

TEST_F(AnthropicRoutes, AStreamHasNamedEvents) {
  backend->respond = [](const FakeBackend::Started& call) { answer(*call.sink, {"Hel", "lo"}); };
  const auto got = ask(message(R"(,"stream":true)"));
  EXPECT_NE(got.head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
  EXPECT_TRUE(got.body.starts_with("event: message_start\ndata: {\"type\":\"message_start\"")) << got.body;
  EXPECT_TRUE(got.body.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")) << got.body;
  EXPECT_EQ(got.body.find("[DONE]"), std::string::npos);
}

TEST_F(AnthropicRoutes, ErrorsAreAnthropicsOwn) {
  backend->respond = [](const FakeBackend::Started& call) {
    call.sink->on_event(
        api::Failed{error(ErrorCode::kContextLengthExceeded, "prompt is too long: 9 tokens > 8 maximum")});
  };
  struct Case {
    std::string request;
    int status;
    const char* type;
    const char* words;
  };
  const Case cases[] = {
      {message(), 400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"},
      {message(R"(,"stream":true)"), 400, "invalid_request_error", "prompt is too long"},
      {message(R"(,"temperature":9)"), 400, "invalid_request_error", "'temperature'"},
      {message(R"(,"model":"gpt-9")"), 404, "not_found_error", "gpt-9"},
      {request("POST", kPath, "{"), 400, "invalid_request_error", "JSON"},
      {request("GET", kPath), 405, "invalid_request_error", "POST"},
      {request("POST", "/v1/messages/batches"), 404, "not_found_error", "/v1/messages"},
      {request("GET", "/v1/none", "", "anthropic-version: 2023-06-01\r\n"), 404, "not_found_error", "/v1/none"},
      {request("GET", "/v1/models/gpt-9", "", "anthropic-version: 2023-06-01\r\n"), 404, "not_found_error", "gpt-9"},
  };
  for (const Case& c : cases) {
    const auto got = ask(c.request);
    EXPECT_EQ(got.status, c.status) << c.request;
    const json::object body = json::parse(got.body).as_object();
    EXPECT_EQ(body.at("type").as_string(), "error") << c.request;
    EXPECT_EQ(body.at("error").at("type").as_string(), c.type) << c.request;
    EXPECT_NE(std::string(body.at("error").at("message").as_string()).find(c.words), std::string::npos) << got.body;
    EXPECT_NE(got.head.find(fmt::format("request-id: {}\r\n", body.at("request_id").as_string().c_str())),
              std::string::npos);
  }
}

TEST_F(AnthropicRoutes, CountsWhatTheBackendWouldCompute) {
  const auto got = ask(message(R"(,"system":"be kind")", "/v1/messages/count_tokens"));
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(json::parse(got.body).at("input_tokens"), std::string("system:be kind;user:hi;").size());
  EXPECT_EQ(ask(message(R"(,"model":"gpt-9")", "/v1/messages/count_tokens")).status, 404);
}

TEST_F(AnthropicRoutes, ModelsAreListedInTheClientsShape) {
  const std::string version = "anthropic-version: 2023-06-01\r\n";
  const json::value list = json::parse(ask(request("GET", "/v1/models", "", version)).body);
  EXPECT_EQ(list.at("first_id").as_string(), "fake");
  EXPECT_EQ(json::parse(ask(request("GET", "/v1/models/alias", "", version)).body).at("type").as_string(), "model");
  EXPECT_EQ(json::parse(ask(request("GET", "/v1/models")).body).at("object").as_string(), "list");
}

TEST_F(AnthropicRoutes, ADropDuringAStreamIsAnEventOfItsOwn) {
  backend->respond = [](const FakeBackend::Started& call) {
    call.sink->on_event(api::Started{3, 0});
    call.sink->on_event(api::Failed{error(ErrorCode::kNumeric, "logits are not finite")});
  };
  const auto got = ask(message(R"(,"stream":true)"));
  EXPECT_EQ(got.status, 200);
  EXPECT_NE(got.body.find("event: error\ndata: {\"type\":\"error\""), std::string::npos) << got.body;
  EXPECT_EQ(got.body.find("message_stop"), std::string::npos);
}

class ShortBodies : public RoutesTest {
 protected:
  static net::HttpServerOptions short_bodies() {
    net::HttpServerOptions options;
    options.max_body_bytes = 100;
    return options;
  }
  ShortBodies() : RoutesTest(short_bodies()) {}
};

TEST_F(ShortBodies, TheHttpLayerSpeaksTheDialectOfThePath) {
  const json::value anthropic = json::parse(ask(request("POST", kPath, std::string(200, ' '))).body);
  EXPECT_EQ(anthropic.at("error").at("type").as_string(), "request_too_large");
  const json::value openai = json::parse(ask(request("POST", kChatPath, std::string(200, ' '))).body);
  EXPECT_EQ(openai.at("error").at("code").as_string(), "request_too_large");
}

// A short interval; how often it passes is not looked at.
class QuietRoutes : public RoutesTest {
 protected:
  QuietRoutes() : RoutesTest({}, milliseconds(20)) {}
};

TEST_F(QuietRoutes, AWaitingClientHearsFromTheServer) {
  const std::pair<std::string, const char*> cases[] = {
      {message(R"(,"stream":true)"), "event: ping\ndata: {\"type\":\"ping\"}\n\n"},
      {chat(R"(,"stream":true)"), ": at work\n"},
  };
  for (const auto& [text, sign] : cases) {
    net::RawClient client(server->port());
    client.send(text);
    const auto call = backend->take();
    call.sink->on_event(api::Started{3, 0});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.read_until(sign).ends_with(sign));
    answer(*call.sink, {"x"});
    EXPECT_TRUE(client.read_until("0\r\n\r\n").ends_with("0\r\n\r\n")) << "and then its answer";
    client.send(request("GET", "/health"));
    EXPECT_EQ(client.read_answer().status, 200) << "nothing of the answer comes late";
  }
}

}  // namespace
}  // namespace brio::server
