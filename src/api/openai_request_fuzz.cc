// Request bodies of strangers: read or refused with a message, never a crash, a hang or unbounded memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/json_text.h"
#include "api/openai_request.h"
#include "api/openai_response.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto chat = brio::api::parse_openai_chat(body);
  const auto completion = brio::api::parse_openai_completion(body);
  for (const auto* parsed : {&chat, &completion}) {
    // The refusal is sent back: it may quote the body, and has to be JSON in UTF-8 all the same.
    if (!parsed->ok() && !brio::api::is_utf8(brio::api::openai_error(parsed->error()))) std::abort();
  }
  return 0;
}
