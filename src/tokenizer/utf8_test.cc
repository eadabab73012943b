#include "tokenizer/utf8.h"

#include <gtest/gtest.h>

namespace brio::tokenizer {
namespace {

// Table 3-7 of the Unicode standard, written out: the well-formed byte sequences.
bool well_formed(const std::string& s) {
  auto in = [&](size_t i, int low, int high) {
    return static_cast<uint8_t>(s[i]) >= low && static_cast<uint8_t>(s[i]) <= high;
  };
  switch (s.size()) {
    case 1:
      return in(0, 0x00, 0x7F);
    case 2:
      return in(0, 0xC2, 0xDF) && in(1, 0x80, 0xBF);
    case 3:
      return in(2, 0x80, 0xBF) &&
             ((in(0, 0xE0, 0xE0) && in(1, 0xA0, 0xBF)) || (in(0, 0xE1, 0xEC) && in(1, 0x80, 0xBF)) ||
              (in(0, 0xED, 0xED) && in(1, 0x80, 0x9F)) || (in(0, 0xEE, 0xEF) && in(1, 0x80, 0xBF)));
    default:
      return false;
  }
}

TEST(Utf8, DecodesExactlyTheWellFormedSequencesOfUpToThreeBytes) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      std::string two{static_cast<char>(a), static_cast<char>(b)};
      const CodePoint c = decode_utf8(two, 0);
      EXPECT_EQ(c.valid, well_formed(two.substr(0, 1)) || well_formed(two));
      for (int third : {0x00, 0x7F, 0x80, 0xBF, 0xC0}) {
        const std::string three = two + static_cast<char>(third);
        const bool valid = well_formed(three.substr(0, 1)) || well_formed(two) || well_formed(three);
        EXPECT_EQ(decode_utf8(three, 0).valid, valid) << a << " " << b << " " << third;
      }
    }
  }
}

TEST(Utf8, EveryScalarValueRoundTrips) {
  for (char32_t value = 0; value <= 0x10FFFF; ++value) {
    if (value >= 0xD800 && value <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, value);
    const CodePoint c = decode_utf8(text, 0);
    ASSERT_TRUE(c.valid) << static_cast<uint32_t>(value);
    ASSERT_TRUE(c.value == value) << static_cast<uint32_t>(value);
    ASSERT_EQ(c.size, text.size());
    for (size_t cut = 1; cut < text.size(); ++cut) ASSERT_TRUE(decode_utf8(text.substr(0, cut), 0).incomplete);
  }
}

// The Unicode standard's own example (section 3.9, table 3-11): one replacement per maximal valid prefix.
TEST(Utf8, ReplacesMaximalPrefixes) {
  EXPECT_EQ(repair_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(repair_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(repair_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_TRUE(is_valid_utf8("plain text of some length, \u00E9\u4E00\U0001F600"));
  EXPECT_FALSE(is_valid_utf8("plain text of some length, \xED\xA0\x80"));
}

}  // namespace
}  // namespace brio::tokenizer
