// libFuzzer: a template, a zero byte, the context as JSON. Neither may crash, hang or exceed its limits, and no character
// that comes from the context may end up where control tokens are recognised: every text in it is marked with a
// character that the template does not have, and the mark must not show in a trusted piece.
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "chat/template.h"
#include "tokenizer/utf8.h"

namespace {

using namespace brio;
namespace json = boost::json;

constexpr std::string_view kMark = "\xEE\x96\xA7";  // U+E5A7, of private use
constexpr size_t kMaxTextBytes = 4096;

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

// A template may make any character by its number: by an escape, or a format where somebody hits on the number.
bool might_spell_mark(std::string_view source) {
  return source.find(kMark) != std::string_view::npos || source.find('\\') != std::string_view::npos;
}

std::string marked(std::string_view text) {
  if (text == "user" || text == "assistant" || text == "system" || text == "tool") return std::string(text);
  if (text.size() > kMaxTextBytes) text = {};
  std::string out(kMark);
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool whole = i + 1 == text.size() || (static_cast<uint8_t>(text[i + 1]) & 0xC0) != 0x80;
    if (whole) out += kMark;
  }
  return out;
}

void mark(json::value& value) {
  if (value.is_string()) {
    value = marked(std::string_view(value.get_string()));
  } else if (value.is_array()) {
    for (json::value& item : value.get_array()) mark(item);
  } else if (value.is_object()) {
    for (auto& entry : value.get_object()) mark(entry.value());
  }
}

void mark_texts(json::object& context) {
  for (auto& entry : context) {
    const bool trusted = entry.key() == "bos_token" || entry.key() == "eos_token" || entry.key() == "unk_token" ||
                         entry.key() == "pad_token";
    if (!trusted || !entry.value().is_string()) mark(entry.value());
  }
}

void check(const chat::Template& parsed, const json::object& context, bool no_mark, bool valid) {
  chat::RenderLimits limits;
  limits.max_steps = 100'000;
  limits.max_output_bytes = size_t{1} << 20;
  limits.max_memory_bytes = size_t{16} << 20;
  const auto pieces = parsed.render(context, std::chrono::system_clock::time_point(), limits);
  if (!pieces.ok()) return;
  size_t bytes = 0;
  for (size_t i = 0; i < pieces->size(); ++i) {
    const tokenizer::TextPiece& piece = (*pieces)[i];
    bytes += piece.text.size();
    require(!piece.text.empty() && (i == 0 || piece.allow_special != (*pieces)[i - 1].allow_special));
    require(!valid || tokenizer::is_valid_utf8(piece.text));
    if (piece.allow_special && no_mark) require(piece.text.find(kMark) == std::string::npos);
  }
  require(bytes <= limits.max_output_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = std::min(input.find('\0'), input.size());
  const std::string_view source = input.substr(0, zero);
  const auto parsed = chat::Template::parse(source);
  if (!parsed.ok()) return 0;
  const std::string_view text = input.substr(std::min(zero + 1, size));
  json::object context;
  json::error_code failed;
  json::value value = json::parse(json::string_view(text.data(), text.size()), failed);
  if (!failed && value.is_object()) context = std::move(value.get_object());
  const bool valid = tokenizer::is_valid_utf8(source);
  check(*parsed, context, false, valid);
  if (might_spell_mark(source)) return 0;
  mark_texts(context);
  check(*parsed, context, true, valid);
  return 0;
}
