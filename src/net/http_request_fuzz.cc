// libFuzzer: one byte that says how the rest is split into arrivals (128 and more: with tight limits), then what a client
// sends. The server's connection
// code reads it from a socket pair, on one thread, without waiting. Checked against plain rules spelled out here:
//   every request handed over has the method, target, headers and body that RFC 9112's framing gives (two readers that
//   disagree on where a body ends are how requests are smuggled), and none that is complete waits for more;
//   what is written back is a sequence of well-formed answers, one per request and one for a refusal, and the last one
//   says that the connection closes if it does;
//   the same bytes give the same requests and answers however they arrive; nothing stays behind.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_connection.h"

namespace {

using namespace brio;
using namespace std::string_view_literals;
namespace asio = boost::asio;

constexpr size_t kMaxArrivals = 64;

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}
std::string_view take_line(std::string_view& in) {  // without its CRLF; empty also at the end
  const size_t end = in.find("\r\n");
  const std::string_view line = in.substr(0, end);
  in.remove_prefix(end == std::string_view::npos ? in.size() : end + 2);
  return line;
}

// ---- messages by the plain rules of RFC 9112, sections 2, 5, 6 and 7 ----

struct Head {
  std::string first_line;
  net::Headers headers;
  std::string_view header(std::string_view name) const {  // the last of that name
    for (size_t i = headers.size(); i > 0; --i) {
      if (equal_ignoring_case(headers[i - 1].first, name)) return headers[i - 1].second;
    }
    return {};
  }
};
enum class Read { kWhole, kPart, kBroken };

Read read_head(std::string_view& in, Head& out) {
  const size_t end = in.find("\r\n\r\n");
  if (end == std::string_view::npos) return Read::kPart;
  std::string_view lines = in.substr(0, end + 2);
  in.remove_prefix(end + 4);
  out.first_line = take_line(lines);
  while (!lines.empty()) {
    const std::string_view line = take_line(lines);
    if (line.starts_with(' ') || line.starts_with('\t')) {  // an old form: the value goes on
      if (out.headers.empty()) return Read::kBroken;
      out.headers.back().second.append(" ").append(trimmed(line));
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return Read::kBroken;
    out.headers.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return Read::kWhole;
}

bool read_number(std::string_view digits, int base, size_t& out) {
  out = 0;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'                     ? c - '0'
                      : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                               : 99;
    if (digit >= base || out > SIZE_MAX / 32) return false;
    out = out * static_cast<size_t>(base) + static_cast<size_t>(digit);
  }
  return !digits.empty();
}

bool ends_quoted(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '\\' && quoted) ++i;
  }
  return quoted;
}

Read read_chunks(std::string_view& in, std::string& body) {
  while (true) {
    if (in.find("\r\n") == std::string_view::npos) return Read::kPart;
    size_t size = 0;
    const std::string_view line = take_line(in);
    if (!read_number(trimmed(line.substr(0, line.find(';'))), 16, size)) return Read::kBroken;
    if (ends_quoted(line)) return Read::kBroken;  // the server looks for the other quote before it refuses
    if (size == 0) break;
    if (in.size() < size || in.size() - size < 2) return Read::kPart;
    body.append(in.substr(0, size));
    in.remove_prefix(size);
    if (!in.starts_with("\r\n")) return Read::kBroken;
    in.remove_prefix(2);
  }
  while (in.find("\r\n") != std::string_view::npos) {  // trailers
    if (take_line(in).empty()) return Read::kWhole;
  }
  return Read::kPart;
}

Read read_body(std::string_view& in, const Head& head, std::string& body) {
  if (!head.header("transfer-encoding").empty()) return read_chunks(in, body);
  std::string_view length = head.header("content-length");
  if (length.empty()) return Read::kWhole;
  size_t size = 0;
  if (const size_t comma = length.rfind(','); comma != std::string_view::npos) length = length.substr(comma + 1);
  if (!read_number(trimmed(length), 10, size)) return Read::kBroken;
  if (in.size() < size) return Read::kPart;
  body = in.substr(0, size);
  in.remove_prefix(size);
  return Read::kWhole;
}

struct Message {
  Head head;
  std::string body;
};
struct Conversation {
  std::vector<Message> messages;
  bool rest = true;  // more bytes than those of whole messages
};
Conversation framed(std::string_view in) {
  Conversation out;
  while (true) {
    while (!in.empty() && (in.front() == '\r' || in.front() == '\n')) in.remove_prefix(1);
    out.rest = !in.empty();
    Message message;
    if (read_head(in, message.head) != Read::kWhole) return out;
    if (read_body(in, message.head, message.body) != Read::kWhole) return out;
    out.messages.push_back(std::move(message));
  }
}

// What a server for this host sees of a target: an absolute one loses its scheme and host.
std::string origin_form(std::string_view target) {
  if (!equal_ignoring_case(target.substr(0, 7), "http://")) return std::string(target);
  const size_t path = target.find_first_of("/?", 7);
  if (path == std::string_view::npos) return "/";
  return (target[path] == '?' ? "/" : "") + std::string(target.substr(path));
}

// ---- the server's side ----

enum class Manner { kReply, kStream, kLate, kDrop, kBreakOff };
Manner manner_of(const net::ServerRequest& request) {
  const char letter = request.path.size() > 1 ? request.path[1] : 'r';
  return letter == 's'   ? Manner::kStream
         : letter == 'l' ? Manner::kLate
         : letter == 'd' ? Manner::kDrop
         : letter == 'b' ? Manner::kBreakOff
                         : Manner::kReply;
}

std::string echo(const net::ServerRequest& request) {
  std::string out = request.method + " " + request.path + " " + request.query + "\n";
  for (const auto& [name, value] : request.headers) out.append(name).append(":").append(value).append("\n");
  return out + request.body;
}

class Server {
 public:
  Server(asio::io_context& io, bool tight) : io_(io) {
    if (tight) {
      host_.options.max_header_bytes = 300;
      host_.options.max_body_bytes = 200;
      host_.options.max_total_body_bytes = 150;
    }
    host_.handler = [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
      answer(request, std::move(responder));
      requests_.push_back(std::move(request));
    };
  }

  std::vector<net::ServerRequest> requests_;
  std::string written_;
  bool closed_ = false;    // by the server, before the client did
  size_t body_bytes_ = 0;  // that it counted as held when all was said

  void talk(std::string_view in, uint8_t split) {
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    client_ = ends[1];
    asio::ip::tcp::socket socket(asio::make_strand(io_));
    socket.assign(asio::ip::tcp::v4(), ends[0]);
    std::make_shared<net::Connection>(std::move(socket), host_)->start();
    uint32_t state = split;
    const size_t least = in.size() / kMaxArrivals;
    while (!in.empty()) {
      state = state * 1103515245 + 12345;
      const size_t wanted = split == 0 ? in.size() : least + 1 + (state >> 16) % split;
      const ssize_t sent = send(client_, in.data(), std::min(in.size(), wanted), MSG_NOSIGNAL);
      if (sent > 0) in.remove_prefix(static_cast<size_t>(sent));
      settle();
      if (closed_) break;
      require(sent > 0);
    }
    settle();
    body_bytes_ = host_.body_bytes;
    close(client_);
    late_.clear();
    while (io_.poll() > 0) continue;
    require(host_.open() == 0 && host_.body_bytes == 0);
  }

 private:
  void answer(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder) {
    switch (manner_of(request)) {
      case Manner::kReply:
        return responder->reply(
            {200, "text/plain", echo(request), {{"X-Echo", std::string(request.header("x-echo"))}}});
      case Manner::kLate:
        late_.emplace_back([text = echo(request), responder] { responder->reply({201, "text/plain", text, {}}); });
        return;
      case Manner::kDrop:
        return;
      default:
        break;
    }
    responder->begin(200, "text/plain", {});
    const std::string text = echo(request);
    responder->write(text.substr(0, text.size() / 2));
    responder->write("");
    responder->write(text.substr(text.size() / 2));
    manner_of(request) == Manner::kStream ? responder->end() : responder->break_off();
  }

  // Until neither side has anything to do; late answers come when all else is done.
  void settle() {
    for (bool busy = true; busy;) {
      busy = io_.poll() > 0;
      char bytes[4096];
      ssize_t count = 0;
      while ((count = recv(client_, bytes, sizeof bytes, 0)) > 0) {
        written_.append(bytes, static_cast<size_t>(count));
        busy = true;
      }
      closed_ = count == 0 || errno != EAGAIN;
      if (busy || late_.empty()) continue;
      const auto work = std::move(late_);
      late_.clear();
      for (const auto& reply : work) reply();
      busy = true;
    }
  }

  asio::io_context& io_;
  net::ConnectionHost host_;
  int client_ = -1;
  std::vector<std::function<void()>> late_;
};

// ---- checks ----

// By lower-case name: the parser keeps headers of one name together, in their order. Spaces are alike: how many of them
// are left of a value over several lines is not laid down.
net::Headers comparable(const net::Headers& headers) {
  net::Headers out;
  for (const auto& [name, value] : headers) {
    auto& [plain_name, plain_value] = out.emplace_back();
    for (const char c : name) plain_name += lower(c);
    for (const char c : value) {
      const bool space = c == ' ' || c == '\t';
      if (!space || (!plain_value.empty() && plain_value.back() != ' ')) plain_value += space ? ' ' : c;
    }
    if (plain_value.ends_with(' ')) plain_value.pop_back();
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

// What another server on the way might read differently is refused.
void check_framing(const net::ServerRequest& request, bool newer) {
  const auto count = [&](std::string_view wanted) {
    return std::count_if(request.headers.begin(), request.headers.end(),
                         [&](const auto& h) { return h.first == wanted; });
  };
  require(!newer || count("host") == 1);
  require(count("transfer-encoding") == 0 || (newer && count("content-length") == 0));
  require(count("transfer-encoding") == 0 || equal_ignoring_case(request.header("transfer-encoding"), "chunked"));
}

void check_requests(const Server& server, const Conversation& conversation) {
  const std::vector<Message>& expected = conversation.messages;
  const auto& requests = server.requests_;
  require(requests.size() <= expected.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const Message& message = expected[i];
    const net::ServerRequest& request = requests[i];
    const std::string_view line = message.head.first_line;
    const size_t target = line.find(' ') + 1;
    const size_t version = line.rfind(' ');
    require(request.method == line.substr(0, target - 1));
    const std::string seen = request.path + (request.query.empty() ? "" : "?" + request.query);
    std::string wanted = origin_form(line.substr(target, version - target));
    if (wanted.find('?') == wanted.size() - 1) wanted.pop_back();
    require(seen == wanted);
    require(request.path.starts_with('/'));
    require(request.body == message.body);
    check_framing(request, line.ends_with("1.1"));
    require(comparable(request.headers) == comparable(message.head.headers));
    for (const auto& [name, value] : request.headers) require(value.find_first_of("\r\n\0"sv) == std::string::npos);
  }
  // Only a refusal or the end of the connection leaves a complete request unread.
  require(server.closed_ || requests.size() == expected.size());
  require(conversation.rest || server.body_bytes_ == 0);
}

// Reads the answers off `out`, gives back their bodies and removes the lines that change with the time.
void check_answers(Server& server) {
  std::string seen;
  std::string_view in = server.written_;
  size_t answers = 0;
  bool last = false;
  while (!in.empty()) {
    require(!last);
    Head head;
    require(read_head(in, head) == Read::kWhole);
    const std::string_view status = std::string_view(head.first_line).substr(0, 13);
    require(status.starts_with("HTTP/1.1 ") && status.ends_with(' '));
    if (status == "HTTP/1.1 100 ") continue;
    require(head.header("x-echo").find_first_of("\r\n") == std::string_view::npos);
    last = head.header("connection") == "close";
    require(last || head.header("connection") == "keep-alive");
    const net::ServerRequest* request = answers < server.requests_.size() ? &server.requests_[answers] : nullptr;
    const bool sized = !head.header("content-length").empty();
    require(sized + !head.header("transfer-encoding").empty() < 2);
    std::string body;
    const bool broken_off = request != nullptr && manner_of(*request) == Manner::kBreakOff;
    const bool has_none = request != nullptr && request->method == "HEAD";
    if (!has_none && !sized && head.header("transfer-encoding").empty()) {  // to the end of the connection
      require(last);
      body = in;
      in = {};
    } else if (!has_none && read_body(in, head, body) != Read::kWhole) {
      require(broken_off || request == nullptr);  // a refused HEAD has no body
      in = {};
    }
    last = last || broken_off;
    if (request != nullptr && !has_none && manner_of(*request) != Manner::kDrop) require(body == echo(*request));
    if (request != nullptr) {
      for (const auto& [name, value] : head.headers) {
        if (name != "Date") seen.append(name).append(":").append(value).append("\n");
      }
      seen.append(head.first_line).append("\n").append(body).append("\n");
    } else {
      seen += "refused";  // of two faults either may be named
    }
    ++answers;
  }
  require(answers <= server.requests_.size() + 1);
  require(answers >= server.requests_.size());
  require(server.closed_ == last);
  server.written_ = std::move(seen);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static asio::io_context io(1);
  static const auto work = asio::make_work_guard(io);
  // A broken header may be refused at its first fault or some bytes past its end: they are here.
  const std::string input = std::string(reinterpret_cast<const char*>(data + 1), size - 1) + "\r\n\r\n\r\n\r\n";
  const Conversation expected = framed(input);

  const bool tight = data[0] >= 128;
  Server whole(io, tight);
  whole.talk(input, 0);
  check_requests(whole, expected);
  check_answers(whole);

  Server split(io, tight);
  split.talk(input, data[0] % 128);
  check_requests(split, expected);
  check_answers(split);
  if (tight) return 0;  // where exactly a header is too long depends on how much of it is there
  require(split.requests_.size() == whole.requests_.size());
  require(split.written_ == whole.written_);
  return 0;
}
