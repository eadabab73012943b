#include "engine/text_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/testing/byte_tokenizer.h"

namespace brio::engine {
namespace {

using testing::byte_tokenizer;

std::string random_text(Rng& rng, int characters) {
  static const char* const kCharacters[] = {"a", "b", "ab", "\xC3\xA9", "\xF0\x9F\x98\x80", "\xE4\xB8\xAD"};
  std::string text;
  for (int i = 0; i < characters; ++i) text += kCharacters[rng.below(6)];
  return text;
}

// Where the text ends by the plain rule: before the stop string whose last byte comes first, the longest of those.
size_t reference_end(const std::string& text, const std::vector<std::string>& stops, std::string& matched) {
  for (size_t end = 1; end <= text.size(); ++end) {
    matched.clear();
    for (const std::string& stop : stops) {
      if (stop.size() <= end && stop.size() > matched.size() &&
          text.compare(end - stop.size(), stop.size(), stop) == 0) {
        matched = stop;
      }
    }
    if (!matched.empty()) return end - matched.size();
  }
  return text.size();
}

// What must be held after `text`: an unfinished character, before it the longest end that begins a stop string.
size_t reference_held(const std::string& text, const std::vector<std::string>& stops) {
  size_t whole = text.size();
  size_t tail = 0;
  while (tail < 3 && tail < whole && (text[whole - 1 - tail] & 0xC0) == 0x80) ++tail;
  if (tail < whole) {
    const auto lead = static_cast<unsigned char>(text[whole - 1 - tail]);
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (length > tail + 1) whole -= tail + 1;
  }
  size_t longest = 0;
  for (const std::string& stop : stops) {
    for (size_t length = 1; length < stop.size() && length <= whole; ++length) {
      if (text.compare(whole - length, length, stop, 0, length) == 0) longest = std::max(longest, length);
    }
  }
  return text.size() - whole + longest;
}

TEST(TextStream, ByteByByteItStopsAndHoldsExactlyAsThePlainRuleSays) {
  const auto tokenizer = byte_tokenizer();
  int stopped = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed);
    const std::string text = random_text(rng, 1 + static_cast<int>(rng.below(30)));
    std::vector<std::string> stops;
    for (uint32_t i = rng.below(4); i > 0; --i) stops.push_back(random_text(rng, 1 + static_cast<int>(rng.below(5))));
    std::string matched;
    const size_t end = reference_end(text, stops, matched);
    TextStream stream(tokenizer.get(), stops);
    std::string emitted;
    bool over = false;
    for (size_t i = 0; i < text.size() && !over; ++i) {
      const TextStream::Piece piece = stream.append(static_cast<unsigned char>(text[i]));
      emitted += piece.text;
      over = piece.stop.has_value();
      if (over) {
        EXPECT_EQ(*piece.stop, matched);
      } else {
        ASSERT_EQ(emitted.size(), i + 1 - reference_held(text.substr(0, i + 1), stops)) << seed << ": " << text;
      }
    }
    if (!over) emitted += stream.finish().text;
    ASSERT_EQ(over, !matched.empty()) << seed;
    ASSERT_EQ(emitted, text.substr(0, end)) << seed;
    stopped += over ? 1 : 0;
  }
  EXPECT_GT(stopped, 100);
}

TEST(TextStream, ACopyGoesOnFromItsParentsState) {
  const auto tokenizer = byte_tokenizer();
  TextStream parent(tokenizer.get(), {"xyz"});
  EXPECT_EQ(parent.append('x').text, "");
  TextStream copy = parent;
  EXPECT_EQ(parent.append('a').text, "xa");
  copy.append('y');
  EXPECT_EQ(copy.append('z').stop, "xyz");
}

TEST(TextStream, UnfinishedCharactersEndAsReplacement) {
  const auto tokenizer = byte_tokenizer();
  TextStream stream(tokenizer.get(), {"q"});
  EXPECT_EQ(stream.append(0xF0).text, "");
  EXPECT_EQ(stream.append(0x9F).text, "");
  EXPECT_EQ(stream.finish().text, "\xEF\xBF\xBD");
}

// Quadratic work here would take minutes.
TEST(TextStream, LongRepetitiveStopsAreLinear) {
  const auto tokenizer = byte_tokenizer();
  TextStream stream(tokenizer.get(), std::vector<std::string>(64, std::string(4000, 'a') + "b"));
  size_t emitted = 0;
  for (int i = 0; i < 20000; ++i) emitted += stream.append('a').text.size();
  EXPECT_EQ(emitted, 16000U);
  EXPECT_EQ(stream.append('b').stop->size(), 4001U);
}

}  // namespace
}  // namespace brio::engine
