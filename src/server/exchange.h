// Exchange: one request on its way through the routes, with what every answer to it needs. On the connection's strand.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/dialect.h"
#include "base/clock.h"
#include "net/http_server.h"

namespace brio::server {

// What an answer needs that comes after the handler has returned. Any thread.
struct ReplyTo {
  std::shared_ptr<net::Responder> responder;
  const api::Dialect& dialect;
  std::string request_id;  // the client's own, or ours

  void reply(std::string json) const;
};

struct Exchange : ReplyTo {
  const net::ServerRequest& request;  // until the handler returns
  TimePoint arrival;
};

// 96 random bits in hexadecimal: ids of one server do not repeat.
std::string random_id();

Exchange make_exchange(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder);

// The dialect of a path; headers: of the request, for the paths that dialects share.
const api::Dialect& dialect_of(std::string_view path, const net::ServerRequest* request = nullptr);

}  // namespace brio::server
