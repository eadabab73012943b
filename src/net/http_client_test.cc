// Downloads over TLS from a local server: bodies, redirects, tokens, certificates, broken and silent servers.
#include "net/http_client.h"

#include <gtest/gtest.h>

#include <csignal>

#include "net/https_test_server.h"

namespace brio::net {
namespace {

struct Answer {
  int status = 0;
  std::string body;
  std::string last_url;
  std::string error;
  ErrorCode code = ErrorCode::kInternal;
};

Answer fetch(HttpGet get) {
  Answer answer;
  auto done = http_get(
      get,
      [&](const HttpHead& head) -> Result<void> {
        answer.status = head.status;
        answer.last_url = head.url.text();
        return {};
      },
      [&](std::string_view bytes) -> Result<void> {
        answer.body += bytes;
        return {};
      });
  if (!done.ok()) {
    answer.error = done.error().message;
    answer.code = done.error().code;
  }
  return answer;
}

HttpGet get_of(const std::string& url) {
  HttpGet get;
  get.url = parse_url(url).value();
  return get;
}

class HttpClient : public testing::Test {
 protected:
  static void SetUpTestSuite() { std::signal(SIGPIPE, SIG_IGN); }
  void TearDown() override { ::unsetenv("SSL_CERT_FILE"); }
};

TEST_F(HttpClient, ReceivesBodiesOfEveryFraming) {
  std::string large;
  for (int i = 0; i < 300000; ++i) large += static_cast<char>(i * 7);
  HttpsTestServer server([&](const std::string& request) {
    if (request.starts_with("GET /large?x=1 ")) return HttpsTestServer::answer(large);
    if (request.starts_with("GET /chunked ")) {
      return std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    }
    if (request.starts_with("GET /until-close ")) return std::string("HTTP/1.1 200 OK\r\n\r\nto the end");
    return HttpsTestServer::answer("", "404 Not Found");
  });
  server.trust();
  EXPECT_EQ(fetch(get_of(server.url("/large?x=1"))).body, large);
  EXPECT_EQ(fetch(get_of(server.url("/chunked"))).body, "abcde");
  EXPECT_EQ(fetch(get_of(server.url("/until-close"))).body, "to the end");
  EXPECT_EQ(fetch(get_of(server.url("/until-close", "127.0.0.1"))).body, "to the end");
  EXPECT_EQ(fetch(get_of(server.url("/absent"))).status, 404);
}

TEST_F(HttpClient, FollowsRedirectsAndKeepsTheTokenAtHome) {
  HttpsTestServer* self = nullptr;
  HttpsTestServer server([&](const std::string& request) {
    const auto redirect = [](const std::string& to) {
      return HttpsTestServer::answer("moved", "302 Found", "Location: " + to + "\r\n");
    };
    if (request.starts_with("GET /start ")) return redirect("/same-host");
    if (request.starts_with("GET /same-host ")) return redirect(self->url("/other-host", "127.0.0.1"));
    if (request.starts_with("GET /loop ")) return redirect("/loop");
    if (request.starts_with("GET /plain ")) return redirect("http://localhost/x");
    if (request.starts_with("GET /nowhere ")) return HttpsTestServer::answer("", "302 Found");
    return HttpsTestServer::answer("here");
  });
  self = &server;
  server.trust();
  HttpGet get = get_of(server.url("/start"));
  get.bearer_token = "secret-token";
  get.headers = {{"Range", "bytes=5-"}};
  int redirects = 0;
  get.on_redirect = [&](const HttpHead& head) { redirects += head.status == 302 ? 1 : 0; };
  const Answer answer = fetch(get);
  EXPECT_EQ(answer.body, "here") << answer.error;
  EXPECT_EQ(answer.last_url, server.url("/other-host", "127.0.0.1"));
  EXPECT_EQ(redirects, 2);
  const std::vector<std::string> requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_NE(requests[0].find("Authorization: Bearer secret-token"), std::string::npos);
  EXPECT_NE(requests[1].find("Authorization: Bearer secret-token"), std::string::npos);
  EXPECT_EQ(requests[2].find("secret-token"), std::string::npos) << "the token must not reach another host";
  for (const std::string& request : requests) EXPECT_NE(request.find("Range: bytes=5-"), std::string::npos);
  EXPECT_NE(fetch(get_of(server.url("/loop"))).error.find("more than 10 redirects"), std::string::npos);
  EXPECT_NE(fetch(get_of(server.url("/plain"))).error.find("redirects from https to http"), std::string::npos);
  EXPECT_NE(fetch(get_of(server.url("/nowhere"))).error.find("without Location"), std::string::npos);
}

TEST_F(HttpClient, TrustsOnlyCertificatesOfTheHost) {
  const auto hello = [](const std::string&) { return HttpsTestServer::answer("hello"); };
  HttpsTestServer server(hello);
  const Answer stranger = fetch(get_of(server.url("/")));
  EXPECT_EQ(stranger.body, "");
  EXPECT_NE(stranger.error.find("its certificate is not trusted: self"), std::string::npos) << stranger.error;
  HttpsTestServer wrong_name(hello, "DNS:example.org");
  wrong_name.trust();
  const Answer mismatch = fetch(get_of(wrong_name.url("/")));
  EXPECT_EQ(mismatch.body, "");
  EXPECT_NE(mismatch.error.find("certificate is not trusted"), std::string::npos) << mismatch.error;
  ::setenv("SSL_CERT_FILE", "/nonexistent/bundle.pem", 1);
  EXPECT_NE(fetch(get_of(server.url("/"))).error.find("SSL_CERT_FILE=/nonexistent/bundle.pem"), std::string::npos);
  EXPECT_TRUE(wrong_name.requests().empty()) << "nothing may be sent to a host that is not trusted";
}

TEST_F(HttpClient, ReportsBrokenAnswers) {
  HttpsTestServer server([&](const std::string& request) {
    if (request.starts_with("GET /short ")) return std::string("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    if (request.starts_with("GET /headers ")) return "HTTP/1.1 200 OK\r\nX: " + std::string(100000, 'x') + "\r\n\r\n";
    if (request.starts_with("GET /silent ")) return std::string(HttpsTestServer::kSilence);
    return std::string("SSH-2.0-OpenSSH\r\n");
  });
  server.trust();
  const Answer cut = fetch(get_of(server.url("/short")));
  EXPECT_EQ(cut.body, "half") << "what arrived is delivered: the caller may resume";
  EXPECT_EQ(cut.code, ErrorCode::kNetwork);
  EXPECT_NE(cut.error.find("the answer broke off"), std::string::npos) << cut.error;
  EXPECT_EQ(fetch(get_of(server.url("/headers"))).code, ErrorCode::kNetwork);
  EXPECT_EQ(fetch(get_of(server.url("/ssh"))).code, ErrorCode::kNetwork);
  HttpGet silent = get_of(server.url("/silent"));
  silent.idle_timeout = std::chrono::milliseconds(200);
  EXPECT_EQ(fetch(silent).code, ErrorCode::kTimeout);
  EXPECT_EQ(fetch(get_of("https://localhost:1/")).code, ErrorCode::kNetwork);
}

TEST_F(HttpClient, StopsWhenTheReceiverSaysSo) {
  HttpsTestServer server([](const std::string&) { return HttpsTestServer::answer(std::string(1000000, 'x')); });
  server.trust();
  size_t received = 0;
  auto done = http_get(
      get_of(server.url("/")), [](const HttpHead&) { return Result<void>(); },
      [&](std::string_view bytes) -> Result<void> {
        received += bytes.size();
        return error(ErrorCode::kCancelled, "enough");
      });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kCancelled);
  EXPECT_LE(received, 65536U);
}

TEST(Url, SplitsAndJoins) {
  const Url url = parse_url("HTTPS://Example.org:8443/a/b.gguf?x=1#sha256=ab").value();
  EXPECT_EQ(url.host, "example.org");
  EXPECT_EQ(url.port, "8443");
  EXPECT_EQ(url.target, "/a/b.gguf?x=1");
  EXPECT_EQ(url.fragment, "sha256=ab");
  EXPECT_EQ(url.text(), "https://example.org:8443/a/b.gguf?x=1");
  EXPECT_EQ(parse_url("https://h").value().target, "/");
  EXPECT_EQ(parse_url("https://h?q").value().target, "/?q");
  EXPECT_EQ(parse_url("https://[::1]:5/").value().host, "::1");
  EXPECT_EQ(parse_url("https://[::1]:5/").value().host_header(), "[::1]:5");
  for (const char* bad : {"ftp://h/", "h/x", "https://", "https://h:x/", "https://h:99999/", "https://u@h/",
                          "https://h/a b", "https://h\r\n/", "https://[::1/", "https://h\\x/", ""}) {
    EXPECT_FALSE(parse_url(bad).ok()) << bad;
  }
}

TEST(Url, ResolvesReferences) {
  const Url base = parse_url("https://h:1/a/b?c").value();
  const auto resolved = [&](std::string_view reference) { return resolve_reference(base, reference).value().text(); };
  EXPECT_EQ(resolved("https://other/x"), "https://other/x");
  EXPECT_EQ(resolved("//other/x"), "https://other/x");
  EXPECT_EQ(resolved("/x?next=https://y"), "https://h:1/x?next=https://y");
  EXPECT_EQ(resolved("x"), "https://h:1/a/x");
  EXPECT_EQ(resolved("?z"), "https://h:1/a/b?z");
}

}  // namespace
}  // namespace brio::net
