// RawClient: a blocking socket that says exactly what a test tells it to, for tests of servers. Every read has a
// deadline, so that a server that hangs fails a test instead of stopping it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace brio::net {

class RawClient {
 public:
  // receive_buffer_bytes > 0 keeps the kernel from reading ahead of a slow reader.
  explicit RawClient(int port, int receive_buffer_bytes = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer_bytes > 0) {
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    const timeval deadline{20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void half_close() { ::shutdown(socket_, SHUT_WR); }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  // False at the end of the stream, on a reset and at the deadline (see timed_out).
  bool read_more() {
    char bytes[65536];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) {
      timed_out_ = got < 0 && errno == EAGAIN;
      return false;
    }
    buffer_.append(bytes, static_cast<size_t>(got));
    return true;
  }
  bool timed_out() const { return timed_out_; }

  // Everything up to and including `mark`; what there is when the stream ends before it.
  std::string read_until(std::string_view mark) {
    size_t at = 0;
    while ((at = buffer_.find(mark)) == std::string::npos) {
      if (!read_more()) return std::exchange(buffer_, {});
    }
    return take(at + mark.size());
  }
  std::string read_bytes(size_t count) {
    while (buffer_.size() < count && read_more()) {
    }
    return take(std::min(count, buffer_.size()));
  }
  std::string read_to_end() {
    while (read_more()) {
    }
    return std::exchange(buffer_, {});
  }

  struct Answer {
    int status = 0;
    std::string head;  // status line and headers as sent
    std::string body;  // decoded when chunked
    bool complete = false;
  };
  // One whole answer, framed by Content-Length or chunks, else by the end of the stream.
  Answer read_answer() {
    Answer answer;
    answer.head = read_until("\r\n\r\n");
    if (answer.head.size() < 12 || !answer.head.ends_with("\r\n\r\n")) return answer;
    answer.status = std::atoi(answer.head.c_str() + 9);
    const size_t length = answer.head.find("Content-Length: ");
    if (answer.head.find("Transfer-Encoding: chunked") != std::string::npos) {
      while (true) {
        const std::string line = read_until("\r\n");
        if (!line.ends_with("\r\n")) return answer;
        const size_t size = std::strtoul(line.c_str(), nullptr, 16);
        const std::string chunk = read_bytes(size + 2);
        if (chunk.size() != size + 2) return answer;
        answer.body += chunk.substr(0, size);
        if (size == 0) break;
      }
      answer.complete = true;
    } else if (length != std::string::npos) {
      const size_t size = std::strtoul(answer.head.c_str() + length + 16, nullptr, 10);
      answer.body = read_bytes(size);
      answer.complete = answer.body.size() == size;
    } else {
      answer.body = read_to_end();
      answer.complete = !timed_out_;
    }
    return answer;
  }

 private:
  std::string take(size_t count) {
    std::string out = buffer_.substr(0, count);
    buffer_.erase(0, count);
    return out;
  }

  int socket_;
  bool connected_ = false;
  bool timed_out_ = false;
  std::string buffer_;
};

}  // namespace brio::net
