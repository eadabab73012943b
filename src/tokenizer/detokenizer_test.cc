#include "tokenizer/detokenizer.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

// One token per byte: id = byte.
std::unique_ptr<Tokenizer> byte_tokenizer() {
  TokenizerSpec spec;
  spec.model = "gpt2";
  spec.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte)
    spec.tokens.push_back(spelling_of_bytes(std::string(1, static_cast<char>(byte))));
  spec.merges = {"a b"};
  return Tokenizer::create(std::move(spec)).value();
}

std::vector<std::string> stream(const Tokenizer& tokenizer, std::string_view bytes) {
  Detokenizer detokenizer(tokenizer);
  std::vector<std::string> out;
  for (char c : bytes) out.push_back(detokenizer.append(static_cast<uint8_t>(c)));
  out.push_back(detokenizer.flush());
  return out;
}

TEST(Detokenizer, CharactersAppearWithTheirLastByte) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_EQ(stream(*tokenizer, "a\u00E9\U0001F600"),
            (std::vector<std::string>{"a", "", "\u00E9", "", "", "", "\U0001F600", ""}));
}

TEST(Detokenizer, BrokenBytesBecomeReplacementsAtOnce) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_EQ(stream(*tokenizer, "\xE2\x82x"), (std::vector<std::string>{"", "", "\uFFFDx", ""}));
  EXPECT_EQ(stream(*tokenizer, "\xFFx"), (std::vector<std::string>{"\uFFFD", "x", ""}));
  EXPECT_EQ(stream(*tokenizer, "\xE0\x80"), (std::vector<std::string>{"", "\uFFFD\uFFFD", ""}));  // overlong form
  EXPECT_EQ(stream(*tokenizer, "\xF0\x9F\x98"), (std::vector<std::string>{"", "", "", "\uFFFD"}));
}

// Whatever the bytes and wherever tokens end: every delta is whole UTF-8, and the sum is the repaired text.
TEST(Detokenizer, StreamEqualsTheRepairedWhole) {
  const auto tokenizer = byte_tokenizer();
  Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    const uint32_t size = rng.below(24);
    for (uint32_t i = 0; i < size; ++i) {
      constexpr std::string_view kEdges = "a\x80\x9F\xA0\xBF\xC2\xE0\xED\xEF\xF0\xF4\xF5\xC3\xA9";
      const uint32_t bits = rng.next();
      bytes.push_back(bits % 4 ? kEdges[bits / 4 % kEdges.size()] : static_cast<char>(bits >> 8));
    }
    std::string sum;
    for (const std::string& delta : stream(*tokenizer, bytes)) {
      EXPECT_TRUE(is_valid_utf8(delta));
      sum += delta;
    }
    EXPECT_EQ(sum, repair_utf8(bytes));
  }
}

}  // namespace
}  // namespace brio::tokenizer
