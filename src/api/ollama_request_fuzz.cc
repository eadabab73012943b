// libFuzzer: request bodies of strangers, read as Ollama's chat, as its generate and as a model's name. What is accepted
// lies within the limits that the API states and means the same in another spelling; what is refused is one "error".
#include <cstddef>
#include <cstdint>

#include "api/ollama_request.h"
#include "api/request_checks.h"

namespace {

using namespace brio;
using namespace brio::api::checks;

using Parse = Result<api::OllamaRequest> (*)(std::string_view);

std::string described_ollama(const Result<api::OllamaRequest>& parsed) {
  if (!parsed.ok()) return parsed.error().message;
  return fmt::format("{} {} {}", parsed->stream, parsed->empty, described(parsed->request));
}

void check_ollama_refusal(const Error& error) {
  const auto refusal = check_refusal(api::kOllama, error);
  require(refusal.get_object().size() == 1 && refusal.at("error").is_string());
}

void check(Parse parse, std::string_view body) {
  const auto parsed = parse(body);
  if (!parsed.ok()) {
    check_ollama_refusal(parsed.error());
  } else if (!parsed->empty) {
    check_request(parsed->request);
    if (const auto* chat = std::get_if<api::ChatRequest>(&parsed->request)) {
      check_request(api::as_completion(*chat));
    }
  }
  const auto other = respelled(body, parsed.ok());
  if (other) require(described_ollama(parse(*other)) == described_ollama(parsed));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check(api::parse_ollama_chat, body);
  check(api::parse_ollama_generate, body);
  const auto name = api::parse_ollama_model(body);
  name.ok() ? require(!name->empty() && is_utf8(*name)) : check_ollama_refusal(name.error());
  return 0;
}
