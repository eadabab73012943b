#include "server/routes_fixture.h"

namespace brio::server {
namespace {

namespace json = boost::json;

class OllamaRoutes : public RoutesTest {};

std::string post(const std::string& path, const std::string& body) {
  return request("POST", path, body);
}

TEST_F(OllamaRoutes, AStreamIsLinesOfJson) {
  backend->respond = [](const FakeBackend::Started& call) { answer(*call.sink, {"Hel", "lo"}); };
  const auto got = ask(post("/api/chat", R"({"model":"fake","messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_NE(got.head.find("Content-Type: application/x-ndjson\r\n"), std::string::npos);
  std::vector<json::value> lines;
  for (size_t at = 0; at < got.body.size();) {
    const size_t end = got.body.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    lines.push_back(json::parse(got.body.substr(at, end - at)));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1].at("message").at("content").as_string(), "lo");
  EXPECT_EQ(lines[2].at("done"), true);
}

TEST_F(OllamaRoutes, GenerateGoesThroughTheTemplateWhereThereIsOne) {
  struct Case {
    bool template_there;
    const char* body;
    bool chat;
  };
  const Case cases[] = {{true, R"({"model":"fake:latest","prompt":"hi","stream":false})", true},
                        {false, R"({"model":"fake","prompt":"hi","system":"x","stream":false})", false},
                        {true, R"({"model":"fake","prompt":"hi","raw":true,"stream":false})", false}};
  for (const Case& c : cases) {
    backend->has_template = c.template_there;
    net::RawClient client(server->port());
    client.send(post("/api/generate", c.body));
    const auto call = backend->take();
    EXPECT_EQ(std::holds_alternative<api::ChatRequest>(call.request), c.chat) << c.body;
    EXPECT_EQ(api::generation(call.request).model, "fake");
    answer(*call.sink, {"yes"});
    EXPECT_EQ(json::parse(client.read_answer().body).at("response").as_string(), "yes");
  }
}

TEST_F(OllamaRoutes, NothingToAnswerNeedsNoBackend) {
  for (const char* path : {"/api/chat", "/api/generate"}) {
    const json::value body = json::parse(ask(post(path, R"({"model":"fake","keep_alive":"10m"})")).body);
    EXPECT_EQ(body.at("done"), true) << path;
    EXPECT_EQ(body.at("done_reason").as_string(), "load") << path;
  }
}

TEST_F(OllamaRoutes, ModelsAreShown) {
  const json::value tags = json::parse(ask(request("GET", "/api/tags")).body);
  ASSERT_EQ(tags.at("models").as_array().size(), 2U) << "without the pattern";
  EXPECT_EQ(tags.at("models").at(1).at("model").as_string(), "alias:latest");
  EXPECT_EQ(json::parse(ask(request("GET", "/api/ps")).body).at("models").at(0).at("context_length"), 4096);
  const json::value shown = json::parse(ask(post("/api/show", R"({"model":"fake:latest"})")).body);
  EXPECT_EQ(shown.at("model_info").at("llama.context_length"), 4096);
  EXPECT_TRUE(json::parse(ask(request("GET", "/api/version")).body).at("version").is_string());
  EXPECT_NE(ask(request("GET", "/")).body.find("Ollama is running"), std::string::npos);
  net::RawClient client(server->port());
  client.send(request("HEAD", "/"));
  EXPECT_NE(client.read_until("\r\n\r\n").find("HTTP/1.1 200 "), std::string::npos);
}

TEST_F(OllamaRoutes, ErrorsAreOllamasOwn) {
  backend->respond = [](const FakeBackend::Started& call) {
    call.sink->on_event(
        api::Failed{error(ErrorCode::kContextLengthExceeded, "prompt is too long: 9 tokens > 8 maximum")});
  };
  struct Case {
    std::string request;
    int status;
    const char* words;
  };
  const Case cases[] = {
      {post("/api/chat", R"({"messages":[{"role":"user","content":"hi"}]})"), 400, "prompt is too long"},
      {post("/api/chat", R"({"model":"gpt-9","messages":[{"role":"user","content":"hi"}]})"), 404, "'gpt-9' not found"},
      {post("/api/generate", R"({"prompt":"hi","options":{"temperature":9}})"), 400, "'options.temperature'"},
      {post("/api/show", R"({"model":"gpt-9"})"), 404, "not found"},
      {post("/api/show", "{}"), 400, "'model' is missing"},
      {post("/api/chat", "{"), 400, "JSON"},
      {post("/api/pull", R"({"model":"x"})"), 400, "/api/pull"},
      {post("/api/push", "{}"), 400, "/api/push"},
      {post("/api/create", "{}"), 400, "/api/create"},
      {post("/api/copy", "{}"), 400, "/api/copy"},
      {request("DELETE", "/api/delete", "{}"), 400, "/api/delete"},
      {post("/api/embed", "{}"), 400, "embeddings"},
      {post("/api/embeddings", "{}"), 400, "embeddings"},
      {request("GET", "/api/chat"), 405, "POST"},
      {request("GET", "/api/none"), 404, "/api/none"},
  };
  for (const Case& c : cases) {
    const auto got = ask(c.request);
    EXPECT_EQ(got.status, c.status) << c.request;
    const json::object body = json::parse(got.body).as_object();
    EXPECT_EQ(body.size(), 1U) << got.body;
    EXPECT_NE(std::string(body.at("error").as_string()).find(c.words), std::string::npos) << got.body;
  }
}

}  // namespace
}  // namespace brio::server
