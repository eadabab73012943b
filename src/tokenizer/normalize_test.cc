#include "tokenizer/normalize.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

namespace brio::tokenizer {
namespace {

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// utf8proc alone is the reference on short text.
std::string reference_nfc(const std::string& text) {
  utf8proc_uint8_t* bytes = utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()));
  std::string out(reinterpret_cast<const char*>(bytes));
  std::free(bytes);
  return out;
}

TEST(Normalize, EqualsUtf8procWhateverTheOrderOfMarks) {
  // Acute (class 230), grave below (220), cedilla (202), a Tibetan vowel of class 0 that decomposes into two marks, Hangul.
  const std::string parts[] = {"\u0301", "\u0316", "\u0327", "\u0F73", "e", "\u00E9", "\u1112\u1161\u11AB", "\u212B"};
  for (const std::string& a : parts) {
    for (const std::string& b : parts) {
      for (const std::string& c : parts) {
        const std::string text = "a" + a + b + c;
        EXPECT_EQ(*normalize_nfc(text), reference_nfc(text)) << text;
      }
    }
  }
}

// A million marks in the wrong order: with a quadratic sort this would run for an hour.
TEST(Normalize, LongRunsOfMarksTakeLinearTime) {
  const std::string text = "a" + repeated("\u0301", 500000) + repeated("\u0316", 500000);
  const std::string expected = "a" + repeated("\u0316", 500000) + repeated("\u0301", 500000);
  EXPECT_EQ(normalize_nfc(text)->size(), expected.size() - 1);  // a and the first acute compose: one byte less
  EXPECT_EQ(normalize_bert(text, {.lowercase = true, .strip_accents = true})->size(), 1U);
}

}  // namespace
}  // namespace brio::tokenizer
