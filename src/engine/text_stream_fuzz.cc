// libFuzzer: stop strings, one a line, up to the first zero byte; then tokens. Whatever the split of a text into tokens,
// the stream's pieces are those of the plain rules, spelled out here a second time: broken UTF-8 becomes U+FFFD, the
// text ends before the stop string whose last byte comes first, and nothing is held back without need.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text_stream.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace {

using namespace brio;

constexpr size_t kMaxTokens = 300;
constexpr uint8_t kFirstEscape = 0xF8;  // no UTF-8 has it: the next byte chooses one of kPieces or an odd id
constexpr std::array<std::string_view, 22> kPieces = {"ab",
                                                      "aba",
                                                      "ba",
                                                      "aaaaaaaa",
                                                      "st",
                                                      "op",
                                                      "stop",
                                                      "top",
                                                      "\n\n",
                                                      " ",
                                                      "a\xC3",
                                                      "\xA9"
                                                      "b",
                                                      "\xF0\x9F",
                                                      "\x98\x80",
                                                      "\xF0\x9F\x98",
                                                      "\xE4\xB8\xAD",
                                                      "\xAD\xE4\xB8",
                                                      "\xEF\xBF\xBD",
                                                      "\xF0\x9F"
                                                      "a",
                                                      "\x80\x80\x80\x80",
                                                      "\xC3\xA9\xC3\xA9\xC3",
                                                      "\xED\xA0\x80"};
constexpr int32_t kControl = 256;
constexpr int32_t kFirstPiece = 257;
constexpr int32_t kOddIds[] = {kControl, -1, 1 << 30};

const tokenizer::Tokenizer& vocabulary() {  // token b is the byte b
  static const auto tokenizer = [] {
    tokenizer::TokenizerSpec spec;
    spec.model = "gpt2";
    spec.pre = "gpt-2";
    for (int byte = 0; byte < 256; ++byte) {
      spec.tokens.push_back(tokenizer::spelling_of_bytes(std::string(1, static_cast<char>(byte))));
    }
    spec.tokens.emplace_back("<|end|>");
    for (const std::string_view piece : kPieces)
      spec.tokens.push_back(tokenizer::spelling_of_bytes(std::string(piece)));
    spec.types.assign(spec.tokens.size(), tokenizer::TokenType::kNormal);
    spec.types[kControl] = tokenizer::TokenType::kControl;
    spec.merges.emplace_back("a b");  // a vocabulary of this kind needs one
    return tokenizer::Tokenizer::create(std::move(spec)).value();
  }();
  return *tokenizer;
}

struct Token {
  int32_t id;
  std::string_view bytes;
};

std::vector<Token> read_tokens(std::string_view in) {
  static const auto bytes = [] {
    std::array<char, 256> all{};
    for (int i = 0; i < 256; ++i) all[static_cast<size_t>(i)] = static_cast<char>(i);
    return all;
  }();
  std::vector<Token> tokens;
  for (size_t i = 0; i < in.size() && tokens.size() < kMaxTokens; ++i) {
    const auto byte = static_cast<uint8_t>(in[i]);
    if (byte < kFirstEscape || i + 1 == in.size()) {
      tokens.push_back({byte, std::string_view(&bytes[byte], 1)});
      continue;
    }
    const auto choice = static_cast<uint8_t>(in[++i]) % (kPieces.size() + std::size(kOddIds));
    if (choice < kPieces.size()) {
      tokens.push_back({kFirstPiece + static_cast<int32_t>(choice), kPieces[choice]});
    } else {
      tokens.push_back({kOddIds[choice - kPieces.size()], {}});
    }
  }
  return tokens;
}

// ---- the plain rules ----

// The scalar values that `length` bytes with this beginning can stand for, as [low, high]; empty if high < low.
struct Range {
  int64_t low = 1;
  int64_t high = 0;
};
Range values_of(std::string_view begin, size_t length) {
  const auto lead = static_cast<uint8_t>(begin[0]);
  const int64_t first_of_length[] = {0, 0, 0x80, 0x800, 0x10000, 0x110000};
  const uint8_t marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
  const uint8_t mark_bits[] = {0, 0x80, 0xE0, 0xF0, 0xF8};
  if (length == 1) return lead < 0x80 ? Range{lead, lead} : Range{};
  if ((lead & mark_bits[length]) != marks[length]) return {};
  int64_t low = lead & ~mark_bits[length];
  int64_t high = low;
  for (size_t i = 1; i < length; ++i) {
    const auto byte = i < begin.size() ? static_cast<uint8_t>(begin[i]) : uint8_t{0x80};
    if ((byte & 0xC0) != 0x80) return {};
    low = low * 64 + (byte & 0x3F);
    high = high * 64 + (i < begin.size() ? byte & 0x3F : 0x3F);
  }
  low = std::max(low, first_of_length[length]);
  high = std::min(high, first_of_length[length + 1] - 1);
  if (low >= 0xD800 && low <= 0xDFFF) low = 0xE000;  // no surrogates
  if (high >= 0xD800 && high <= 0xDFFF) high = 0xD7FF;
  return {low, high};
}
bool may_begin(std::string_view bytes) {  // a character, or become one
  for (size_t length = bytes.size(); length <= 4; ++length) {
    const Range range = values_of(bytes, length);
    if (range.low <= range.high) return true;
  }
  return false;
}

// Whole characters and replacements of `bytes`; an end that may still become a character is left in `rest`.
std::string repaired(std::string_view bytes, std::string_view& rest) {
  std::string out;
  size_t i = 0;
  while (i < bytes.size()) {
    size_t length = 1;
    while (length < 4 && i + length < bytes.size() && may_begin(bytes.substr(i, length + 1))) ++length;
    const std::string_view part = bytes.substr(i, length);
    const Range range = values_of(part, length);
    if (may_begin(part) && range.low > range.high && i + length == bytes.size()) break;
    range.low <= range.high ? out += part : out += "\xEF\xBF\xBD";
    i += length;
  }
  rest = bytes.substr(i);
  return out;
}

struct End {
  size_t text = std::string::npos;  // where the text ends, npos: no stop string in it
  std::string_view stop;
};
End first_stop(std::string_view text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    std::string_view longest;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop) && stop.size() > longest.size()) longest = stop;
    }
    if (!longest.empty()) return {end - longest.size(), longest};
  }
  return {};
}
size_t held_back(std::string_view text, const std::vector<std::string>& stops) {
  for (size_t length = text.size(); length > 0; --length) {
    for (const std::string& stop : stops) {
      if (stop.size() > length && stop.starts_with(text.substr(text.size() - length))) return length;
    }
  }
  return 0;
}

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

// ---- the stream against them ----

struct Emitted {
  std::string text;
  std::optional<std::string> stop;
};

void take(const engine::TextStream::Piece& piece, Emitted& out) {
  std::string_view rest;
  require(repaired(piece.text, rest) == piece.text && rest.empty());
  out.text += piece.text;
  out.stop = piece.stop;
}

Emitted rest_of(engine::TextStream stream, const std::vector<Token>& tokens, size_t next, Emitted out) {
  for (; next < tokens.size() && !out.stop; ++next) take(stream.append(tokens[next].id), out);
  if (!out.stop) take(stream.finish(), out);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = std::min(input.find('\0'), size);
  std::vector<std::string> stops;
  for (size_t begin = 0; begin < zero && stops.size() < 8;) {
    const size_t end = std::min(input.find('\n', begin), zero);
    std::string stop = tokenizer::repair_utf8(input.substr(begin, end - begin));  // requests are UTF-8
    if (!stop.empty()) stops.push_back(std::move(stop));
    begin = end + 1;
  }
  const std::vector<Token> tokens = read_tokens(input.substr(std::min(zero + 1, size)));

  std::string bytes;
  for (const Token& token : tokens) bytes += token.bytes;
  std::string_view rest;
  std::string whole = repaired(bytes, rest);
  if (!rest.empty()) whole += "\xEF\xBF\xBD";
  require(tokenizer::repair_utf8(bytes) == whole);
  require(tokenizer::is_valid_utf8(bytes) == (bytes == whole));
  const End end = first_stop(whole, stops);

  engine::TextStream stream(&vocabulary(), stops);
  Emitted out;
  bytes.clear();
  const size_t fork_at = tokens.empty() ? 0 : size % tokens.size();
  for (size_t i = 0; i < tokens.size() && !out.stop; ++i) {
    if (i == fork_at) {
      const Emitted copy = rest_of(stream, tokens, i, out);
      require(copy.text == std::string_view(whole).substr(0, end.text) && copy.stop.value_or("") == end.stop);
    }
    take(stream.append(tokens[i].id), out);
    bytes += tokens[i].bytes;
    const std::string known = repaired(bytes, rest);
    const End known_end = first_stop(known, stops);
    require(out.stop.has_value() == (known_end.text != std::string::npos));
    const size_t certain = out.stop ? known_end.text : known.size() - held_back(known, stops);
    require(out.text == std::string_view(known).substr(0, certain));
  }
  if (!out.stop) take(stream.finish(), out);
  require(out.text == std::string_view(whole).substr(0, end.text));
  require(out.stop.value_or("") == end.stop);
  return 0;
}
