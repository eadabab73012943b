// libFuzzer: request bodies of strangers, read as a chat and as a completion. What is accepted lies within the limits
// that the API states, and means the same when the body is written in another spelling (escapes, spaces, number
// formats); what is refused is refused with an error body of well-formed JSON.
#include <cstddef>
#include <cstdint>

#include "api/openai_request.h"
#include "api/request_checks.h"

namespace {

using namespace brio;
using namespace brio::api::checks;

using Parse = Result<api::OpenAiRequest> (*)(std::string_view);

void check_openai_refusal(const Error& error) {
  const json::object fields = check_refusal(api::kOpenAi, error).at("error").as_object();
  require(fields.at("type").is_string() && fields.at("code").is_string());
  const json::string& message = fields.at("message").as_string();
  const json::value& param = fields.at("param");
  if (param.is_string()) require(message.starts_with("'" + std::string(param.as_string()) + "'"));
}

// Everything that was read, or the refusal.
std::string described_openai(const Result<api::OpenAiRequest>& parsed) {
  if (!parsed.ok()) return parsed.error().message;
  return fmt::format("{} {} {}", parsed->stream, parsed->include_usage, described(parsed->request));
}

void check(Parse parse, std::string_view body) {
  const auto parsed = parse(body);
  parsed.ok() ? check_request(parsed->request) : check_openai_refusal(parsed.error());
  const auto other = respelled(body, parsed.ok());
  if (other) require(described_openai(parse(*other)) == described_openai(parsed));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check(api::parse_openai_chat, body);
  check(api::parse_openai_completion, body);
  return 0;
}
