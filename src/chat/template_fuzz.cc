// libFuzzer: a template, a zero byte, the context as JSON. Neither may crash, hang or exceed its limits.
#include <boost/json.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "chat/template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace brio;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = std::min(input.find('\0'), input.size());
  Result<chat::Template> parsed = chat::Template::parse(input.substr(0, zero));
  if (!parsed.ok()) return 0;
  boost::json::object context;
  boost::json::error_code failed;
  const std::string_view text = zero < input.size() ? input.substr(zero + 1) : std::string_view();
  boost::json::value json = boost::json::parse(boost::json::string_view(text.data(), text.size()), failed);
  if (!failed && json.is_object()) context = std::move(json.get_object());
  chat::RenderLimits limits;
  limits.max_steps = 100'000;
  limits.max_output_bytes = size_t{1} << 20;
  limits.max_memory_bytes = size_t{16} << 20;
  Result<std::vector<tokenizer::TextPiece>> pieces =
      parsed->render(context, std::chrono::system_clock::time_point(), limits);
  if (!pieces.ok()) return 0;
  size_t bytes = 0;
  for (size_t i = 0; i < pieces->size(); ++i) {
    bytes += (*pieces)[i].text.size();
    const bool alternates = i == 0 || (*pieces)[i].allow_special != (*pieces)[i - 1].allow_special;
    if ((*pieces)[i].text.empty() || !alternates) std::abort();
  }
  if (bytes > limits.max_output_bytes) std::abort();
  return 0;
}
