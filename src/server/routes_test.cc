#include "server/routes.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <thread>

#include "server/routes_fixture.h"

namespace brio::server {
namespace {

namespace json = boost::json;
using api::Delta;
using api::Done;
using api::Failed;
using api::Finish;
using api::FinishReason;
using api::Started;
using net::RawClient;

// Payloads of a stream's events.
std::vector<std::string> payloads(const std::string& body) {
  std::vector<std::string> out;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find("\n\n", at);
    EXPECT_NE(end, std::string::npos) << "a torn event: " << body.substr(at);
    if (end == std::string::npos) break;
    EXPECT_EQ(body.substr(at, 6), "data: ");
    out.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return out;
}

std::string streamed_text(const std::string& body) {
  std::string out;
  for (const std::string& payload : payloads(body)) {
    if (payload == "[DONE]") continue;
    const json::value chunk = json::parse(payload);
    for (const json::value& choice : chunk.at("choices").as_array()) {
      if (const auto* content = choice.at("delta").as_object().if_contains("content"))
        out += std::string(content->as_string());
    }
  }
  return out;
}

TEST_F(RoutesTest, HealthFollowsTheBackend) {
  EXPECT_EQ(ask(request("GET", "/health")).status, 200);
  backend->state = api::Readiness::kDraining;
  EXPECT_EQ(ask(request("GET", "/health")).status, 503);
  backend->state = api::Readiness::kReady;
  routes.serve(nullptr);
  const auto loading = ask(request("GET", "/health"));
  EXPECT_EQ(loading.status, 503);
  EXPECT_EQ(loading.body, R"({"status":"loading"})");
  EXPECT_NE(loading.head.find("Retry-After: "), std::string::npos);
  const auto refused = ask(chat());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(error_of(refused).at("code").as_string(), "unavailable");
  EXPECT_EQ(ask(request("GET", "/v1/models")).status, 503);
}

TEST_F(RoutesTest, LiveMeansThatThereIsProgress) {
  EXPECT_EQ(ask(request("GET", "/live")).status, 200);
  backend->stalled_seconds = 3600;
  const auto stalled = ask(request("GET", "/live"));
  EXPECT_EQ(stalled.status, 503);
  EXPECT_EQ(json::parse(stalled.body).at("seconds_without_progress"), 3600.0);
  EXPECT_EQ(ask(request("GET", "/health")).status, 200) << "requests may come all the same";
  routes.serve(nullptr);
  EXPECT_EQ(ask(request("GET", "/live")).status, 200) << "loading is no reason to restart";
}

TEST_F(RoutesTest, TextWithoutGeneration) {
  const auto post = [&](const std::string& path, const std::string& body) { return ask(request("POST", path, body)); };
  EXPECT_EQ(post("/tokenize", R"({"content":"ab"})").body, R"({"tokens":[97,98],"count":2,"max_model_len":4096})");
  EXPECT_EQ(post("/detokenize", R"({"tokens":[97,98]})").body, R"({"prompt":"ab","content":"ab"})");
  const auto rendered = post("/apply-template", R"({"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(json::parse(rendered.body).at("prompt").as_string(), "user:hi;");
  EXPECT_EQ(post("/tokenize", "{}").status, 400);
  EXPECT_EQ(post("/tokenize", R"({"model":"gpt-9","prompt":"x"})").status, 404);
  EXPECT_EQ(post("/detokenize", R"({"tokens":"x"})").status, 400);
  EXPECT_TRUE(json::parse(ask(request("GET", "/version")).body).at("version").is_string());
}

TEST_F(RoutesTest, DrainingRefusesNewCallsAndKeepsThoseUnderWay) {
  RawClient client(server->port());
  client.send(chat());
  const auto call = backend->take();
  EXPECT_EQ(routes.calls_under_way(), 1);
  routes.drain();
  EXPECT_EQ(ask(request("GET", "/health")).status, 503);
  EXPECT_EQ(ask(chat()).status, 503);
  answer(*call.sink, {"still ", "here"});
  EXPECT_EQ(json::parse(client.read_answer().body).at("choices").at(0).at("message").at("content").as_string(),
            "still here");
}

TEST_F(RoutesTest, CallsUnderWayComeBackToZero) {
  backend->respond = [](const FakeBackend::Started& call) { answer(*call.sink, {"x"}); };
  EXPECT_EQ(ask(chat()).status, 200);
  for (int i = 0; i < 10'000 && routes.calls_under_way() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(routes.calls_under_way(), 0);
}

TEST_F(RoutesTest, ModelsAreListedAndFound) {
  const json::value list = json::parse(ask(request("GET", "/v1/models")).body);
  EXPECT_EQ(list.at("data").as_array().size(), 2U);
  EXPECT_EQ(list.at("data").at(0).at("id").as_string(), "fake");
  EXPECT_EQ(list.at("data").at(0).at("context_length").as_int64(), 4096);
  EXPECT_EQ(json::parse(ask(request("GET", "/v1/models/alias")).body).at("id").as_string(), "alias");
  const json::value claude = json::parse(ask(request("GET", "/v1/models/claude-x")).body);
  EXPECT_EQ(claude.at("id").as_string(), "claude-x") << "found by its pattern, which is not listed";
  const auto missing = ask(request("GET", "/v1/models/nobody"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(error_of(missing).at("code").as_string(), "model_not_found");
}

TEST_F(RoutesTest, MetricsAreText) {
  const auto answer = ask(request("GET", "/metrics"));
  EXPECT_EQ(answer.body, "metric 1\n");
  EXPECT_NE(answer.head.find("Content-Type: text/plain; version=0.0.4"), std::string::npos);
}

TEST_F(RoutesTest, UnknownPathsAndMethodsAreNamed) {
  const auto missing = ask(request("GET", "/v2/none"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_NE(std::string(error_of(missing).at("message").as_string()).find("/v1/chat/completions"), std::string::npos);
  EXPECT_EQ(ask(request("GET", "/v1/modelsx")).status, 404);
  const auto wrong = ask(request("GET", kChatPath));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_NE(wrong.head.find("Allow: POST\r\n"), std::string::npos);
  EXPECT_EQ(ask(request("DELETE", "/health")).status, 405);
}

TEST_F(RoutesTest, ErrorsOfTheHttpLayerSpeakTheApisDialect) {
  const auto bad = ask("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(error_of(bad).at("type").as_string(), "invalid_request_error");
}

TEST_F(RoutesTest, InvalidRequestsNeverReachTheBackend) {
  const std::pair<std::string, const char*> bodies[] = {
      {"{", nullptr},
      {"", nullptr},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":[{"role":"user","content":"x"}],"temperature":9})", "temperature"},
  };
  for (const auto& [body, param] : bodies) {
    const auto answer = ask(request("POST", kChatPath, body));
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(error_of(answer).at("param"), param ? json::value(param) : json::value(nullptr)) << body;
  }
  const auto unknown =
      ask(request("POST", kChatPath, R"({"model":"gpt-9","messages":[{"role":"user","content":"x"}]})"));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(error_of(unknown).at("code").as_string(), "model_not_found");
  EXPECT_EQ(error_of(unknown).at("param").as_string(), "model");
  EXPECT_EQ(routes.calls_under_way(), 0);
}

TEST_F(RoutesTest, AWholeAnswerCarriesIdsUsageAndTheRequestId) {
  RawClient client(server->port());
  client.send(
      request("POST", kChatPath, R"({"messages":[{"role":"user","content":"hi"}]})", "X-Request-Id: mine-1\r\n"));
  const auto call = backend->take();
  EXPECT_EQ(api::generation(call.request).model, "fake") << "absent: the first model";
  EXPECT_GT(api::generation(call.request).arrival, TimePoint{});
  answer(*call.sink, {"Hel", "lo"});
  const auto got = client.read_answer();
  EXPECT_EQ(got.status, 200);
  EXPECT_NE(got.head.find("x-request-id: mine-1\r\n"), std::string::npos);
  const json::value body = json::parse(got.body);
  EXPECT_EQ(body.at("object").as_string(), "chat.completion");
  EXPECT_EQ(body.at("system_fingerprint").as_string(), "fake-n1");
  EXPECT_TRUE(std::string(body.at("id").as_string()).starts_with("chatcmpl-"));
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content").as_string(), "Hello");
  EXPECT_EQ(body.at("usage").at("total_tokens").as_int64(), 5);
}

TEST_F(RoutesTest, AStreamIsSentAsItComes) {
  RawClient client(server->port());
  client.send(chat(R"(,"stream":true)"));
  const auto call = backend->take();
  call.sink->on_event(Started{3, 0});
  EXPECT_NE(client.read_until("\n\n\r\n").find(R"("role":"assistant")"), std::string::npos) << "before any token";
  call.sink->on_event(Delta{0, "one", {}});
  EXPECT_NE(client.read_until("\n\n\r\n").find(R"("content":"one")"), std::string::npos);
  call.sink->on_event(Finish{0, FinishReason::kLength, ""});
  call.sink->on_event(Done{});
  EXPECT_NE(client.read_until("[DONE]\n\n").find(R"("finish_reason":"length")"), std::string::npos);
}

TEST_F(RoutesTest, AStreamWithoutAClientInTheWayIsWhole) {
  backend->respond = [](const FakeBackend::Started& call) {
    std::vector<std::string> pieces;
    for (int i = 0; i < 300; ++i) pieces.push_back(fmt::format("{} ", i));
    answer(*call.sink, pieces);
  };
  std::string expected;
  for (int i = 0; i < 300; ++i) expected += fmt::format("{} ", i);
  RawClient client(server->port());
  for (int round = 0; round < 3; ++round) {  // one connection
    client.send(chat(R"(,"stream":true)"));
    const auto got = client.read_answer();
    EXPECT_NE(got.head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
    EXPECT_TRUE(got.complete);
    EXPECT_EQ(streamed_text(got.body), expected);
    EXPECT_EQ(payloads(got.body).back(), "[DONE]");
  }
}

TEST_F(RoutesTest, RefusalsOfTheBackendBecomeStatusCodes) {
  const std::pair<ErrorCode, int> cases[] = {{ErrorCode::kContextLengthExceeded, 400},
                                             {ErrorCode::kOverloaded, 429},
                                             {ErrorCode::kUnsupported, 400},
                                             {ErrorCode::kUnavailable, 503},
                                             {ErrorCode::kNumeric, 500}};
  for (const auto& [code, status] : cases) {
    for (const char* stream : {R"(,"stream":true)", ""}) {
      backend->respond = [code = code](const FakeBackend::Started& call) {
        call.sink->on_event(Failed{error(code, "no")});
      };
      const auto answer = ask(chat(stream));
      EXPECT_EQ(answer.status, status) << name(code);
      EXPECT_EQ(error_of(answer).at("code").as_string(), std::string(name(code)));
      EXPECT_EQ(answer.head.find("Retry-After") != std::string::npos, status == 429 || status == 503);
    }
  }
}

TEST_F(RoutesTest, AnErrorMidStreamComesInBandWithoutDone) {
  backend->respond = [](const FakeBackend::Started& call) {
    call.sink->on_event(Started{});
    call.sink->on_event(Delta{0, "half", {}});
    call.sink->on_event(Failed{error(ErrorCode::kNumeric, "logits are not finite")});
  };
  const auto got = ask(chat(R"(,"stream":true)"));
  EXPECT_EQ(got.status, 200);
  const auto all = payloads(got.body);
  EXPECT_EQ(json::parse(all.back()).at("error").at("code").as_string(), "numeric");
  EXPECT_EQ(got.body.find("[DONE]"), std::string::npos);
  EXPECT_EQ(ask(chat()).status, 500) << "the same, not streamed";
}

TEST_F(RoutesTest, AClientThatLeavesCancelsItsCall) {
  for (const char* stream : {R"(,"stream":true)", ""}) {
    for (const bool started : {false, true}) {
      RawClient client(server->port());
      client.send(chat(stream));
      const auto call = backend->take();
      if (started) call.sink->on_event(Started{});
      EXPECT_FALSE(call.cancelled->load());
      client.close();
      EXPECT_TRUE(backend->wait_cancelled(call)) << "stream" << stream << " started " << started;
      call.sink->on_event(Failed{error(ErrorCode::kCancelled, "cancelled")});
    }
  }
}

TEST_F(RoutesTest, AFinishedCallIsNotCancelled) {
  FakeBackend::Started call;
  {
    RawClient client(server->port());
    client.send(chat());
    call = backend->take();
    answer(*call.sink, {"x"});
    EXPECT_EQ(client.read_answer().status, 200);
  }
  server->stop(std::chrono::seconds(5));
  EXPECT_FALSE(call.cancelled->load());
}

TEST_F(RoutesTest, PipelinedCallsAreAnsweredInOrder) {
  backend->respond = [](const FakeBackend::Started& call) {
    answer(*call.sink, {std::get<api::ChatRequest>(call.request).generation.stop.front()});
  };
  RawClient client(server->port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += chat(fmt::format(R"(,"stop":"{}")", i));
  client.send(all);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(json::parse(client.read_answer().body).at("choices").at(0).at("message").at("content").as_string(),
              std::to_string(i));
  }
}

TEST_F(RoutesTest, ManyStreamsAtOnceStayApart) {
  backend->respond = [](const FakeBackend::Started& call) {
    const std::string mark = std::get<api::ChatRequest>(call.request).generation.stop.front();
    std::vector<std::string> pieces;
    for (int i = 0; i < 100; ++i) pieces.push_back(fmt::format("{}.{} ", mark, i));
    answer(*call.sink, pieces);
  };
  std::atomic<int> whole{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 32; ++c) {
    clients.emplace_back([&, c] {
      std::string expected;
      for (int i = 0; i < 100; ++i) expected += fmt::format("c{}.{} ", c, i);
      RawClient client(server->port());
      client.send(chat(fmt::format(R"(,"stream":true,"stop":"c{}")", c)));
      const auto got = client.read_answer();
      if (got.complete && streamed_text(got.body) == expected) whole.fetch_add(1);
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(whole, 32);
}

net::HttpServerOptions tight() {
  net::HttpServerOptions options;
  options.max_pending_write_bytes = 64 << 10;
  options.max_burst_bytes = 256 << 10;
  options.send_buffer_bytes = 4 << 10;
  options.max_body_bytes = 1 << 10;
  return options;
}

class TightRoutesTest : public RoutesTest {
 protected:
  TightRoutesTest() : RoutesTest(tight()) {}
};

TEST_F(TightRoutesTest, ASlowReaderIsDroppedAndItsCallCancelled) {
  RawClient client(server->port(), 4 << 10);
  client.send(chat(R"(,"stream":true)"));
  const auto call = backend->take();
  call.sink->on_event(Started{});
  for (int i = 0; i < 10'000 && !call.cancelled->load(); ++i) call.sink->on_event(Delta{0, std::string(1000, 'x'), {}});
  EXPECT_TRUE(backend->wait_cancelled(call));
  EXPECT_EQ(server->stats().slow_readers, 1);
  EXPECT_EQ(ask(request("GET", "/health")).status, 200) << "the others do not notice";
}

TEST_F(TightRoutesTest, ABodyThatIsTooLargeIsA413) {
  const auto answer = ask(request("POST", kChatPath, std::string(2 << 10, ' ')));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(error_of(answer).at("code").as_string(), "request_too_large");
}

}  // namespace
}  // namespace brio::server
