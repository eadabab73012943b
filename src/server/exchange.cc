#include "server/exchange.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "server/answer.h"

namespace brio::server {

std::string random_id() {
  thread_local std::mt19937_64 bits{(uint64_t{std::random_device{}()} << 32) ^ std::random_device{}()};
  return fmt::format("{:016x}{:08x}", bits(), static_cast<uint32_t>(bits()));
}

const api::Dialect& dialect_of(std::string_view path, const net::ServerRequest* request) {
  if (path.starts_with("/v1/messages")) return api::kAnthropic;
  if (path.starts_with("/api/")) return api::kOllama;
  return request && !request->header("anthropic-version").empty() ? api::kAnthropic : api::kOpenAi;
}

Exchange make_exchange(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder) {
  constexpr size_t kLongest = 128;
  const std::string_view given = request.header("x-request-id");
  std::string id = given.empty() ? fmt::format("req_{}", random_id()) : std::string(given.substr(0, kLongest));
  ReplyTo to{std::move(responder), dialect_of(request.path, &request), std::move(id)};
  return {std::move(to), request, Clock::steady().now()};
}

void ReplyTo::reply(std::string json) const {
  responder->reply(json_response(dialect, std::move(json), request_id));
}

}  // namespace brio::server
