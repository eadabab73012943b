#include "tokenizer/byte_alphabet.h"

#include <array>

#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

constexpr int kNumStandIns = 68;  // 256 bytes less '!'..'~' (94), 0xA1..0xAC (12) and 0xAE..0xFF (82)

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<int16_t, 256 + kNumStandIns> byte{};  // -1: not in the alphabet

  constexpr Alphabet() {
    for (int16_t& b : byte) b = -1;
    char32_t next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      character[b] = printable ? static_cast<char32_t>(b) : next++;
      byte[character[b]] = static_cast<int16_t>(b);
    }
  }
};
constexpr Alphabet kAlphabet;

}  // namespace

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string out;
  out.reserve(spelling.size());
  for (size_t i = 0; i < spelling.size();) {
    const CodePoint c = decode_utf8(spelling, i);
    if (!c.valid || c.value >= kAlphabet.byte.size() || kAlphabet.byte[c.value] < 0) return std::nullopt;
    out.push_back(static_cast<char>(kAlphabet.byte[c.value]));
    i += c.size;
  }
  return out;
}

std::string spelling_of_bytes(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char b : bytes) append_utf8(out, kAlphabet.character[static_cast<uint8_t>(b)]);
  return out;
}

}  // namespace brio::tokenizer
