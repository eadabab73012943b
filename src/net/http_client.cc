#include "net/http_client.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <cstdlib>
#include <exception>
#include <type_traits>

namespace brio::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using TlsStream = ssl::stream<beast::tcp_stream>;

constexpr uint32_t kMaxHeaderBytes = 64 * 1024;  // redirects of object stores carry signed URLs of several kilobytes
constexpr size_t kPieceBytes = 64 * 1024;

using OnHead = std::function<Result<void>(const HttpHead&)>;
using OnBody = std::function<Result<void>(std::string_view)>;

// Runs one asynchronous operation to its end: Asio's blocking calls know no timeouts.
template <typename Start>
error_code wait_for(asio::io_context& io, Start start) {
  error_code result;
  start([&result](error_code code, const auto&...) { result = code; });
  io.restart();
  io.run();
  return result;
}

Error network_error(const Url& url, std::string_view doing, error_code code) {
  const bool timeout = code == beast::error::timeout || code == asio::error::timed_out;
  return error(timeout ? ErrorCode::kTimeout : ErrorCode::kNetwork, "{}: {}: {}", url.host_header(), doing,
               timeout ? "no answer in time" : code.message());
}

Error tls_error(const Url& url, error_code code, long verify_result) {
  if (verify_result == X509_V_OK) return network_error(url, "cannot set up TLS", code);
  Error failure = error(ErrorCode::kNetwork, "{}: its certificate is not trusted: {}", url.host_header(),
                        X509_verify_cert_error_string(verify_result));
  failure.hint = "Where a proxy or company certificate is in use, name its bundle in SSL_CERT_FILE.";
  return failure;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

HttpHead head_of(const Url& url, const http::response_header<>& header, boost::optional<uint64_t> length) {
  HttpHead head;
  head.status = static_cast<int>(header.result_int());
  head.url = url;
  for (const auto& field : header) head.headers.emplace_back(field.name_string(), field.value());
  if (length) head.content_length = *length;
  return head;
}

// One request and its answer on a connected stream.
template <typename Stream>
class Exchange {
 public:
  Exchange(asio::io_context& io, Stream& stream, const HttpGet& get, const Url& url)
      : io_(io), stream_(stream), get_(get), url_(url) {}

  Result<HttpHead> send_and_read_head() {
    http::request<http::empty_body> request(http::verb::get, url_.target, 11);
    request.set(http::field::host, url_.host_header());
    request.set(http::field::user_agent, "brio");
    request.set(http::field::accept, "*/*");
    request.set(http::field::accept_encoding, "identity");
    request.set(http::field::connection, "close");
    for (const auto& [name, value] : get_.headers) request.set(name, value);
    if (!get_.bearer_token.empty() && url_.same_origin(get_.url)) {
      request.set(http::field::authorization, "Bearer " + get_.bearer_token);
    }
    error_code code = timed([&](auto handler) { http::async_write(stream_, request, handler); });
    if (code) return network_error(url_, "cannot send the request", code);
    parser_.header_limit(kMaxHeaderBytes);
    parser_.body_limit(boost::none);
    code = timed([&](auto handler) { http::async_read_header(stream_, buffer_, parser_, handler); });
    if (code) return network_error(url_, "cannot read the answer's header", code);
    return head_of(url_, parser_.get(), parser_.content_length());
  }

  Result<void> read_body(const OnBody& on_body) {
    std::array<char, kPieceBytes> piece;
    while (!parser_.is_done()) {
      parser_.get().body().data = piece.data();
      parser_.get().body().size = piece.size();
      const error_code code = timed([&](auto handler) { http::async_read_some(stream_, buffer_, parser_, handler); });
      const size_t received = piece.size() - parser_.get().body().size;
      if (received > 0) BRIO_TRY_OK(on_body({piece.data(), received}));
      if (code == http::error::need_buffer || !code) continue;
      return network_error(url_, "the answer broke off", code);
    }
    return {};
  }

 private:
  template <typename Start>
  error_code timed(Start start) {
    beast::get_lowest_layer(stream_).expires_after(get_.idle_timeout);
    return wait_for(io_, start);
  }

  asio::io_context& io_;
  Stream& stream_;
  const HttpGet& get_;
  const Url& url_;
  beast::flat_buffer buffer_{kMaxHeaderBytes + kPieceBytes};
  http::response_parser<http::buffer_body> parser_;
};

// A redirect's head is returned for the caller to follow; any other answer goes to the callbacks.
template <typename Stream>
Result<HttpHead> exchange(asio::io_context& io, Stream& stream, const HttpGet& get, const Url& url,
                          const OnHead& on_head, const OnBody& on_body) {
  Exchange<Stream> conversation(io, stream, get, url);
  BRIO_TRY(HttpHead head, conversation.send_and_read_head());
  if (is_redirect(head.status)) return head;
  BRIO_TRY_OK(on_head(head));
  BRIO_TRY_OK(conversation.read_body(on_body));
  return head;
}

Result<void> connect(asio::io_context& io, beast::tcp_stream& stream, const HttpGet& get, const Url& url) {
  Tcp::resolver resolver(io);
  Tcp::resolver::results_type addresses;
  error_code code = asio::error::timed_out;
  resolver.async_resolve(url.host, url.port, [&](error_code result, const Tcp::resolver::results_type& found) {
    code = result;
    addresses = found;
  });
  io.restart();
  io.run_for(get.connect_timeout);
  if (!io.stopped()) {
    resolver.cancel();
    io.run();
    return network_error(url, "cannot find its address", asio::error::timed_out);
  }
  if (code) return network_error(url, "cannot find its address", code);
  stream.expires_after(get.connect_timeout);
  code = wait_for(io, [&](auto handler) { stream.async_connect(addresses, handler); });
  if (code) return network_error(url, "cannot connect", code);
  return {};
}

Result<void> prepare_tls(ssl::context& context, const Url& url) {
  error_code code;
  context.set_default_verify_paths(code);
  if (code) return network_error(url, "cannot load certificates", code);
  // OpenSSL looks at SSL_CERT_FILE by itself but ignores a file it cannot read; say so instead of trusting nobody.
  const char* file = std::getenv("SSL_CERT_FILE");
  if (file != nullptr && *file != '\0') {
    context.load_verify_file(file, code);
    if (code) return error(ErrorCode::kIo, "SSL_CERT_FILE={}: cannot load certificates: {}", file, code.message());
  }
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  return {};
}

Result<HttpHead> fetch_tls(const HttpGet& get, const Url& url, const OnHead& on_head, const OnBody& on_body) {
  asio::io_context io;
  ssl::context context(ssl::context::tls_client);
  BRIO_TRY_OK(prepare_tls(context, url));
  TlsStream stream(io, context);
  stream.set_verify_mode(ssl::verify_peer);
  stream.set_verify_callback(ssl::host_name_verification(url.host));
  error_code not_an_address;
  asio::ip::make_address(url.host, not_an_address);
  if (not_an_address && SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str()) != 1) {
    return error(ErrorCode::kNetwork, "{}: cannot name the host to TLS", url.host_header());
  }
  BRIO_TRY_OK(connect(io, stream.next_layer(), get, url));
  stream.next_layer().expires_after(get.connect_timeout);
  const error_code code =
      wait_for(io, [&](auto handler) { stream.async_handshake(ssl::stream_base::client, handler); });
  if (code) return tls_error(url, code, SSL_get_verify_result(stream.native_handle()));
  return exchange(io, stream, get, url, on_head, on_body);
}

Result<HttpHead> fetch_plain(const HttpGet& get, const Url& url, const OnHead& on_head, const OnBody& on_body) {
  if (!url.is_loopback()) {
    return error(ErrorCode::kUnsupported, "{}: brio fetches over https only", url.text());
  }
  asio::io_context io;
  beast::tcp_stream stream(io);
  BRIO_TRY_OK(connect(io, stream, get, url));
  return exchange(io, stream, get, url, on_head, on_body);
}

Result<void> follow(const HttpGet& get, const OnHead& on_head, const OnBody& on_body) {
  Url url = get.url;
  for (int hop = 0; hop <= get.max_redirects; ++hop) {
    BRIO_TRY(HttpHead head,
             url.scheme == "https" ? fetch_tls(get, url, on_head, on_body) : fetch_plain(get, url, on_head, on_body));
    if (!is_redirect(head.status)) return {};
    const std::string_view location = head.header("Location");
    if (location.empty()) return error(ErrorCode::kNetwork, "{}: a redirect without Location", url.host_header());
    if (get.on_redirect) get.on_redirect(head);
    BRIO_TRY(Url next, resolve_reference(url, location));
    if (url.scheme == "https" && next.scheme != "https") {
      return error(ErrorCode::kNetwork, "{}: redirects from https to {}", url.host_header(), next.scheme);
    }
    url = std::move(next);
  }
  return error(ErrorCode::kNetwork, "{}: more than {} redirects", get.url.host_header(), get.max_redirects);
}

}  // namespace

std::string_view HttpHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (beast::iequals(beast::string_view(key.data(), key.size()), beast::string_view(name.data(), name.size()))) {
      return value;
    }
  }
  return {};
}

Result<void> http_get(const HttpGet& get, const OnHead& on_head, const OnBody& on_body) {
  try {
    return follow(get, on_head, on_body);
  } catch (const std::exception& failure) {  // Asio throws where it has no room for a code
    return error(ErrorCode::kNetwork, "{}: {}", get.url.host_header(), failure.what());
  }
}

}  // namespace brio::net
