#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <optional>

#include "base/sha256.h"
#include "hub/source.h"
#include "net/http_client.h"

namespace brio::hub {
namespace {

constexpr int kMaxAttempts = 20;  // each must have brought new bytes
constexpr size_t kMaxEtagBytes = 1024;

// "bytes 100-199/200" -> {100, 200}; the total may be '*'.
struct ContentRange {
  int64_t start = 0;
  int64_t total = 0;  // 0: unknown
};
std::optional<ContentRange> parse_content_range(std::string_view text) {
  ContentRange range;
  int64_t last = 0;
  if (!text.starts_with("bytes ")) return std::nullopt;
  const char* end = text.data() + text.size();
  auto [dash, start_error] = std::from_chars(text.data() + 6, end, range.start);
  if (start_error != std::errc() || dash == end || *dash != '-') return std::nullopt;
  auto [slash, last_error] = std::from_chars(dash + 1, end, last);
  if (last_error != std::errc() || slash == end || *slash != '/') return std::nullopt;
  if (std::string_view(slash + 1, static_cast<size_t>(end - slash - 1)) == "*") return range;
  auto [rest, total_error] = std::from_chars(slash + 1, end, range.total);
  if (total_error != std::errc() || rest != end || range.start < 0 || last < range.start || range.total <= last) {
    return std::nullopt;
  }
  return range;
}

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

// One file's transfer over as many connections as it takes.
class Transfer {
 public:
  Transfer(UrlRequest& request, PartialFile& file, const ProgressCallback& progress)
      : request_(request), file_(file), progress_(progress), room_(free_bytes(request.etag_path.parent_path())) {}

  Result<void> run() {
    if (!can_resume()) BRIO_TRY_OK(file_.truncate(0));
    for (int attempt = 1;; ++attempt) {
      const int64_t before = file_.size_bytes();
      auto done = once();
      if (done.ok()) return finish();
      const ErrorCode code = done.error().code;
      const bool broke = code == ErrorCode::kNetwork || code == ErrorCode::kTimeout;
      const bool advanced = file_.size_bytes() > before;
      const bool starts_over = before > 0 && file_.size_bytes() == 0;  // what was here is not the server's file
      if (!broke || !(advanced || starts_over) || attempt == kMaxAttempts) return done;
    }
  }

 private:
  // Without a digest, only an entity tag tells whether the server still has the same file.
  bool can_resume() {
    std::ifstream in(request_.etag_path);
    std::string url;
    std::getline(in, url);
    std::getline(in, etag_);
    if (url != request_.url.text() || etag_.size() > kMaxEtagBytes) etag_.clear();
    return file_.size_bytes() > 0 && (!request_.expected_sha256.empty() || !etag_.empty());
  }

  Result<void> once() {
    if (request_.expected_bytes > 0 && file_.size_bytes() == request_.expected_bytes) return {};
    net::HttpGet get;
    get.url = request_.url;
    get.bearer_token = request_.bearer_token;
    if (file_.size_bytes() > 0) {
      get.headers.emplace_back("Range", fmt::format("bytes={}-", file_.size_bytes()));
      if (!etag_.empty()) get.headers.emplace_back("If-Range", etag_);
    }
    get.on_redirect = [this](const net::HttpHead& head) { note_digest(head); };
    std::optional<ProgressMeter> meter;
    auto done = net::http_get(
        get,
        [&](const net::HttpHead& head) -> Result<void> {
          note_digest(head);
          BRIO_TRY_OK(accept(head));
          meter.emplace(progress_, "downloading", file_.size_bytes(), total_);
          return {};
        },
        [&](std::string_view bytes) -> Result<void> {
          if (file_.size_bytes() + static_cast<int64_t>(bytes.size()) > limit_) {
            return error(ErrorCode::kInvalidFile, "{}: sends more than {} bytes", request_.url.text(), limit_);
          }
          BRIO_TRY_OK(file_.append(bytes));
          return meter->update(file_.size_bytes()) ? Result<void>() : error(ErrorCode::kCancelled, "stopped");
        });
    return was_whole_ ? Result<void>() : done;
  }

  void note_digest(const net::HttpHead& head) {
    const std::string linked = unquoted(head.header("X-Linked-ETag"));
    if (request_.trust_linked_etag && request_.expected_sha256.empty() && is_sha256(linked)) {
      request_.expected_sha256 = linked;
    }
  }

  // Decides what the answer's body is and where it goes.
  Result<void> accept(const net::HttpHead& head) {
    if (head.status != 200 && head.status != 206) return refuse(head);
    total_ = static_cast<int64_t>(std::min<uint64_t>(head.content_length.value_or(0), INT64_MAX));
    if (head.status == 206) {
      const std::optional<ContentRange> range = parse_content_range(head.header("Content-Range"));
      if (!range || range->start != file_.size_bytes()) {
        return error(ErrorCode::kInvalidFile, "{}: answers with another range: '{}'", request_.url.text(),
                     head.header("Content-Range"));
      }
      total_ = range->total;
    } else {
      BRIO_TRY_OK(file_.truncate(0));  // the server starts over
    }
    if (request_.expected_bytes > 0 && total_ > 0 && total_ != request_.expected_bytes) {
      return error(ErrorCode::kInvalidFile, "{}: has {} bytes, expected {}", request_.url.text(), total_,
                   request_.expected_bytes);
    }
    if (total_ == 0) total_ = request_.expected_bytes;
    if (room_ > 0 && total_ - file_.size_bytes() > room_) {
      return error(ErrorCode::kIo, "{} bytes are needed, the disk has {}", total_ - file_.size_bytes(), room_);
    }
    limit_ = total_ > 0 ? total_ : std::max(room_, file_.size_bytes());
    return remember_etag(head);
  }

  Result<void> refuse(const net::HttpHead& head) {
    const bool closed = head.status == 401 || head.status == 403;
    Error failure = error(head.status == 404 ? ErrorCode::kNotFound : ErrorCode::kNetwork, "{}: answers {}",
                          request_.url.text(), head.status);
    if (closed && request_.bearer_token.empty()) failure.hint = "If the model is private or gated, set HF_TOKEN.";
    if (closed && !request_.bearer_token.empty()) failure.hint = "The token in HF_TOKEN has no access.";
    if (head.status == 416) {  // nothing behind what we have: whole already, or not the same file
      was_whole_ = head.header("Content-Range") == fmt::format("bytes */{}", file_.size_bytes());
      if (!was_whole_) BRIO_TRY_OK(file_.truncate(0));
    }
    return failure;
  }

  Result<void> remember_etag(const net::HttpHead& head) {
    const std::string_view tag = head.header("ETag");
    const bool strong = tag.size() >= 2 && tag.front() == '"' && tag.size() <= kMaxEtagBytes;
    etag_ = strong ? std::string(tag) : "";
    std::ofstream out(request_.etag_path, std::ios::trunc);
    out << request_.url.text() << '\n' << etag_ << '\n';
    return {};
  }

  Result<void> finish() {
    if (total_ > 0 && file_.size_bytes() != total_) {
      return error(ErrorCode::kNetwork, "{}: {} of {} bytes arrived", request_.url.text(), file_.size_bytes(), total_);
    }
    return {};
  }

  UrlRequest& request_;
  PartialFile& file_;
  const ProgressCallback& progress_;
  int64_t room_;
  int64_t total_ = 0;
  int64_t limit_ = 0;
  bool was_whole_ = false;
  std::string etag_;
};

}  // namespace

Result<void> fetch_url(UrlRequest& request, PartialFile& file, const ProgressCallback& progress) {
  return Transfer(request, file, progress).run();
}

}  // namespace brio::hub
