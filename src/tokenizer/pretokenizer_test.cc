#include "tokenizer/pretokenizer.h"

#include <gtest/gtest.h>

#include <set>

namespace brio::tokenizer {
namespace {

std::vector<std::string> split(std::string_view name, std::string_view text) {
  const auto recipe = find_recipe(name);
  EXPECT_TRUE(recipe.ok()) << name;
  const auto pretokenizer = Pretokenizer::create(recipe->stages);
  EXPECT_TRUE(pretokenizer.ok()) << name << ": " << pretokenizer.error().message;
  RegexScratch scratch;
  std::vector<size_t> ends;
  const auto status = pretokenizer->split(text, scratch, ends);
  EXPECT_TRUE(status.ok()) << name << ": " << status.error().message;
  std::vector<std::string> words;
  size_t begin = 0;
  for (size_t end : ends) {
    EXPECT_GT(end, begin) << name;
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size()) << name;
  return words;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  const std::string message = find_recipe("no such name").error().message;
  std::string rest = message.substr(message.find("known are ") + 10);
  for (size_t comma; (comma = rest.find(", ")) != std::string::npos; rest = rest.substr(comma + 2))
    names.push_back(rest.substr(0, comma));
  names.push_back(rest);
  return names;
}

TEST(Pretokenizer, KnowsTheFamiliesByName) {
  for (const char* name :
       {"gpt-2", "llama-bpe", "qwen2", "smollm", "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon", "starcoder",
        "refact", "command-r", "mpt", "tekken", "gpt-4o", "qwen35", "gemma4"}) {
    EXPECT_TRUE(find_recipe(name).ok()) << name;
  }
  EXPECT_GE(all_names().size(), 80u);
  for (const char* name : {"", "Qwen2", "qwen2 ", "unknown"}) EXPECT_FALSE(find_recipe(name).ok()) << name;
}

using Words = std::vector<std::string>;

TEST(Pretokenizer, ExamplesOfEachFamily) {
  EXPECT_EQ(split("gpt-2", "I'll  pay 1234."), (Words{"I", "'ll", " ", " pay", " 1234", "."}));
  EXPECT_EQ(split("smollm", "a 12"), (Words{"a", " ", "1", "2"}));
  EXPECT_EQ(split("llama-bpe", "I'LL pay 12345\n\n"), (Words{"I", "'LL", " pay", " ", "123", "45", "\n\n"}));
  EXPECT_EQ(split("qwen2", "x=12 \n y"), (Words{"x", "=", "1", "2", " \n", " y"}));
  EXPECT_EQ(split("tekken", "HTTPServer x/\n"), (Words{"HTTPServer", " x", "/\n"}));
  EXPECT_EQ(split("gpt-4o", "camelCase it's"), (Words{"camel", "Case", " it's"}));
  EXPECT_EQ(split("deepseek-v3", "1234 \u4E00\u4E8Ca"), (Words{"123", "4", " ", "\u4E00\u4E8C", "a"}));
  EXPECT_EQ(split("falcon", "a==1234"), (Words{"a", "==", "123", "4"}));
  EXPECT_EQ(split("gemma4", "a b\n\nc"), (Words{"a b", "\n\n", "c"}));
  EXPECT_EQ(split("afmoe", "a1234567"), (Words{"a", "1", "234", "567"}));
  EXPECT_EQ(split("tiny_aya", "1234 1234b"), (Words{"1", "234", " ", "123", "4", "b"}));
  EXPECT_EQ(split("kimi-k2", "ab\u4E00\u4E8CCd"), (Words{"ab", "\u4E00\u4E8C", "Cd"}));
}

// Mongolian vowel separator: white space for PCRE2's \s, not for Unicode and the reference engines.
TEST(Pretokenizer, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(split("gpt-2", "a \u180E b"), (Words{"a", " \u180E", " b"}));
  EXPECT_EQ(split("gpt-2", "a\u3000\u00A0\u0085b"), (Words{"a", "\u3000\u00A0", "\u0085", "b"}));
  EXPECT_EQ(with_unicode_white_space(R"([^\s\p{L}]\s\S\\s[\]\s])"),
            "[^" BRIO_WHITE_SPACE R"(\p{L}][)" BRIO_WHITE_SPACE "][^" BRIO_WHITE_SPACE R"(]\\s[\])" BRIO_WHITE_SPACE
            "]");
}

// Long uniform text drives every repeat and look-ahead to its worst: a quadratic pattern would hit the test's time
// limit, a stack-hungry one the limits of the matcher.
TEST(Pretokenizer, LongRunsAreWithinLimitsForEveryName) {
  std::set<const std::string_view*> seen;
  for (const std::string& name : all_names()) {
    if (!seen.insert(find_recipe(name)->stages.data()).second) continue;  // another name of the same stages
    for (const char* unit : {"a", "A", "aA", "1", " ", "\n", " \n", "!", "'", "\u0301", "a\u0301", "\u4E00",
                             "\U0001F600", "\u00A0", "a b", "\u200B"}) {
      std::string text;
      while (text.size() < 100'000) text += unit;
      split(name, text + "x");
    }
  }
}

TEST(Pretokenizer, RunawayPatternsEndInAnError) {
  const std::string_view stages[] = {"(a+)+[bc]"};
  const auto pretokenizer = Pretokenizer::create(stages);
  ASSERT_TRUE(pretokenizer.ok());
  RegexScratch scratch;
  std::vector<size_t> ends;
  const auto status = pretokenizer->split(std::string(2000, 'a'), scratch, ends);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
}

// A match may begin before the place where it was looked for.
TEST(Pretokenizer, MatchesThatReachBackEnd) {
  const std::string_view stages[] = {"(?<=(?1))(?(DEFINE)(\\Ka))"};
  const auto pretokenizer = Pretokenizer::create(stages);
  if (!pretokenizer.ok()) return;  // newer PCRE2 refuses the pattern
  RegexScratch scratch;
  std::vector<size_t> ends;
  ASSERT_TRUE(pretokenizer->split("aaaa", scratch, ends).ok());
  EXPECT_EQ(ends.back(), 4U);
}

TEST(Pretokenizer, PatternsCannotSplitCharacters) {
  const std::string_view stages[] = {"\\C"};
  EXPECT_FALSE(Pretokenizer::create(stages).ok());
}

TEST(Pretokenizer, EmptyMatchesCut) {
  const std::string_view stages[] = {"(?=b)"};
  const auto pretokenizer = Pretokenizer::create(stages);
  ASSERT_TRUE(pretokenizer.ok());
  RegexScratch scratch;
  std::vector<size_t> ends;
  ASSERT_TRUE(pretokenizer->split("aabab", scratch, ends).ok());
  EXPECT_EQ(ends, (std::vector<size_t>{2, 4, 5}));
}

}  // namespace
}  // namespace brio::tokenizer
