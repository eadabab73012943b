// libFuzzer: a byte of settings, a seed for cuts, then what a model wrote. Read whole, byte by byte and cut anywhere, it
// gives the same pieces; the pieces joined are the text; little is held back; arguments are the beginning of a JSON object,
// whole where the call ended well (read here by Boost.JSON).
#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "chat/output_parser.h"
#include "tokenizer/utf8.h"

namespace {

using namespace brio;
namespace json = boost::json;

constexpr std::string_view kSpaceAndSeparators = " \n\r\t};,";

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

struct Setting {
  chat::OutputFormat format;
  bool open = false;
};

Setting setting_of(uint8_t byte) {
  Setting out;
  const auto tools = chat::tool_formats();
  const size_t t = byte % (tools.size() + 1);
  if (t < tools.size()) out.format.tools = &tools[t];
  const auto reasoning = chat::reasoning_formats();
  const size_t r = (byte / 8) % (reasoning.size() + 1);
  if (r < reasoning.size()) out.format.reasoning = &reasoning[r];
  out.open = byte >= 128;
  return out;
}

// White space and separators may wait for what follows them, a head of a call for its end.
size_t most_held(std::string_view text) {
  size_t longest = 0;
  size_t run = 0;
  for (const char c : text) {
    run = kSpaceAndSeparators.find(c) == std::string_view::npos ? 0 : run + 1;
    longest = std::max(longest, run);
  }
  return 2 * longest + 2 * chat::kMaxCallHead;
}

// Cuts into pieces of 1 to `longest` bytes by the seed.
chat::Pieces parse(const Setting& setting, std::string_view text, size_t longest, uint32_t seed) {
  static const auto offered = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"f", "get"});
  chat::OutputParser parser(setting.format, offered, setting.open);
  chat::Pieces out;
  size_t fed = 0;
  size_t written = 0;
  const size_t bound = most_held(text);
  while (fed < text.size()) {
    seed = seed * 1664525 + 1013904223;
    const size_t length = std::min<size_t>(1 + (seed >> 16) % longest, text.size() - fed);
    chat::Pieces more;
    parser.append(text.substr(fed, length), more);
    fed += length;
    for (const chat::Piece& piece : more) {
      require(!piece.text.empty());
      written += piece.text.size();
      add_piece(out, piece.kind, piece.text);
    }
    require(written <= fed && fed - written <= bound);
  }
  parser.finish(out);
  require(!parser.in_reasoning() || setting.format.reasoning);
  return out;
}

// What Boost.JSON refuses although the grammar allows it: numbers out of any range, halves of surrogate pairs.
bool beyond_the_grammar(const json::error_code& failure) {
  return failure == json::error::exponent_overflow || failure == json::error::expected_utf16_escape ||
         failure == json::error::illegal_leading_surrogate || failure == json::error::illegal_trailing_surrogate;
}

// whole: the brace of the object around them followed.
void check_arguments(const std::string& text, bool whole) {
  json::parse_options options;
  options.max_depth = 1000;
  json::stream_parser parser({}, options);
  json::error_code failure;
  const size_t used = parser.write_some(text, failure);
  if (beyond_the_grammar(failure)) return;
  require(!failure && used == text.size());
  require(text.empty() || text[0] == '{');
  if (whole) require(parser.done());
}

void check_calls(const chat::Pieces& pieces) {
  bool in_call = false;
  std::string arguments;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const chat::Piece& piece = pieces[i];
    switch (piece.kind) {
      case chat::PieceKind::kCallName:
        require(!piece.text.empty());
        check_arguments(arguments, false);
        arguments.clear();
        in_call = true;
        break;
      case chat::PieceKind::kArguments:
        require(in_call);
        arguments += piece.text;
        break;
      case chat::PieceKind::kControl:
        require(in_call);
        for (const char c : piece.text) require(static_cast<uint8_t>(c) < 0x20);
        arguments += ' ';  // in a string
        break;
      case chat::PieceKind::kMarkup:
        if (!arguments.empty()) check_arguments(arguments, piece.text[0] == '}');
        break;
      default:
        break;
    }
  }
  check_arguments(arguments, false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const Setting setting = setting_of(data[0]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const chat::Pieces whole = parse(setting, text, text.size() + 1, 0);
  std::string joined;
  for (const chat::Piece& piece : whole) joined += piece.text;
  require(joined == text);
  require(parse(setting, text, 1, 0) == whole);
  require(parse(setting, text, 2 + data[1] % 30, data[1]) == whole);
  if (tokenizer::is_valid_utf8(text)) check_calls(whole);
  return 0;
}
