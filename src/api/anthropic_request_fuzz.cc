// libFuzzer: request bodies of strangers, read as Anthropic's messages. What is accepted lies within the limits that the
// API states, has no two turns of one role in a row, and means the same in another spelling; what may be counted may
// also be answered, given max_tokens; what is refused is refused in Anthropic's words.
#include <cstddef>
#include <cstdint>

#include "api/anthropic_request.h"
#include "api/request_checks.h"

namespace {

using namespace brio;
using namespace brio::api::checks;

std::string described_anthropic(const Result<api::AnthropicRequest>& parsed) {
  if (!parsed.ok()) return parsed.error().message;
  return fmt::format("{} {}", parsed->stream, described(parsed->chat));
}

void check_turns(const api::ChatRequest& chat) {
  for (size_t i = 1; i < chat.messages.size(); ++i) {
    const std::string& role = chat.messages[i].role;
    require(role != chat.messages[i - 1].role || role == "tool" || role == "system");
  }
  const bool ends_with_answer = chat.messages.back().role == "assistant";
  require(!chat.continue_answer || ends_with_answer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto parsed = api::parse_anthropic_message(body);
  const auto counted = api::parse_anthropic_count(body);
  if (parsed.ok()) {
    require(counted.ok() && described_anthropic(counted) == described_anthropic(parsed));
    require(parsed->chat.generation.max_tokens.has_value());
    check_request(parsed->chat);
    check_turns(parsed->chat);
  } else {
    const auto refusal = check_refusal(api::kAnthropic, parsed.error());
    require(refusal.at("type") == "error" && refusal.at("error").at("type") == "invalid_request_error");
  }
  const auto other = respelled(body, parsed.ok());
  if (other) require(described_anthropic(api::parse_anthropic_message(*other)) == described_anthropic(parsed));
  return 0;
}
