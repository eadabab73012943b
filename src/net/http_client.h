// http_get: one blocking GET over HTTPS, for downloads. Follows redirects, streams the body, verifies certificates.
//
//   net::HttpGet get{.url = url, .bearer_token = token, .headers = {{"Range", "bytes=100-"}}};
//   BRIO_TRY_OK(net::http_get(get, [&](const net::HttpHead& head) { ...; return Result<void>(); },
//                                  [&](std::string_view bytes) { return file.append(bytes); }));
//
// Certificates are checked against the system's store, or SSL_CERT_FILE and SSL_CERT_DIR. Plain http is for this
// machine only. The token goes to the first address's origin and nowhere else. Bounds: header size, redirects, and the
// time without a byte; the size of the body is the receiver's to limit. Any thread; no state is shared.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/url.h"

namespace brio::net {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpHead {
  int status = 0;
  Url url;  // that answered
  Headers headers;
  std::optional<uint64_t> content_length;  // of this answer's body

  // The first header of that name, whatever its case; empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpGet {
  Url url;
  std::string bearer_token = {};  // empty: none
  Headers headers = {};
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(30);  // name, connection and TLS together
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(60);     // between any two pieces of an answer
  int max_redirects = 10;
  // Called with each redirect before it is followed.
  std::function<void(const HttpHead&)> on_redirect = {};
};

// on_head sees the final answer, whatever its status, then on_body its body in order. An error from either ends the
// exchange and is returned. kNetwork: unreachable, not trusted, broken off. kTimeout: too slow.
Result<void> http_get(const HttpGet& get, const std::function<Result<void>(const HttpHead&)>& on_head,
                      const std::function<Result<void>(std::string_view)>& on_body);

}  // namespace brio::net
