// Grammars against plain facts about them: which texts match, which masks come, what is refused and how it is named.
// JSON schemas against other implementations: tests/grammar.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "grammar/compile.h"
#include "grammar/matcher.h"

namespace brio::grammar {
namespace {

constexpr int32_t kEnd = 0;
constexpr int32_t kControl = 1;
constexpr int32_t kFirstByte = 2;

std::shared_ptr<const TokenTrie> vocabulary() {
  static const auto trie = [] {
    std::vector<std::string> tokens{"", ""};
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    for (const char* piece : {"ab",  "abc", "bc",  "aa",       "aaaa",  "\"a",  "a\"", "\",",  "\": ", "\":",
                              "{\"", "12",  "123", "\xC3\xA9", "a\xC3", "\n  ", "  ",  "true", "\"}",  "ab"}) {
      tokens.emplace_back(piece);
    }
    return std::make_shared<const TokenTrie>(std::move(tokens), std::vector<int32_t>{kEnd});
  }();
  return trie;
}

std::shared_ptr<const CompiledGrammar> compiled(GrammarKind kind, const std::string& text) {
  auto grammar = compile({kind, text}, vocabulary());
  EXPECT_TRUE(grammar.ok()) << text << ": " << grammar.error().message;
  return grammar.ok() ? *grammar : nullptr;
}

std::string error_of(GrammarKind kind, const std::string& text, const CompileLimits& limits = {}) {
  const auto grammar = compile({kind, text}, vocabulary(), limits);
  return grammar.ok() ? "" : grammar.error().message;
}

std::vector<uint64_t> mask_of(const Matcher& matcher) {
  std::vector<uint64_t> words(matcher.num_words());
  const Result<void> made = matcher.mask(words);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return words;
}
bool has(const std::vector<uint64_t>& words, int32_t token) {
  return (words[static_cast<size_t>(token) >> 6] >> (token & 63) & 1) != 0;
}

// The mask's meaning, token by token: what accept() takes.
void expect_mask_is_what_is_accepted(const Matcher& matcher) {
  const std::vector<uint64_t> words = mask_of(matcher);
  for (int32_t id = 0; id < vocabulary()->vocab_size(); ++id) {
    Matcher copy = matcher;
    ASSERT_EQ(copy.accept(id), has(words, id)) << "token " << id << " '" << vocabulary()->bytes(id) << "'";
  }
}

bool matches(const std::shared_ptr<const CompiledGrammar>& grammar, const std::string& text) {
  Matcher matcher(grammar);
  return matcher.accept_bytes(text) && matcher.is_complete();
}

void expect_language(GrammarKind kind, const std::string& text, const std::vector<std::string>& in,
                     const std::vector<std::string>& out) {
  const auto grammar = compiled(kind, text);
  ASSERT_NE(grammar, nullptr);
  for (const std::string& word : in) {
    EXPECT_TRUE(matches(grammar, word)) << text << " should match " << word;
    Matcher matcher(grammar);
    for (const char c : word) {
      expect_mask_is_what_is_accepted(matcher);
      ASSERT_TRUE(matcher.accept(kFirstByte + static_cast<uint8_t>(c))) << text << ": " << word;
    }
    expect_mask_is_what_is_accepted(matcher);
  }
  for (const std::string& word : out) EXPECT_FALSE(matches(grammar, word)) << text << " should not match " << word;
}

TEST(Regex, MatchesWhatItSays) {
  const auto check = [](const std::string& text, const std::vector<std::string>& in,
                        const std::vector<std::string>& out) { expect_language(GrammarKind::kRegex, text, in, out); };
  check("a|bc", {"a", "bc"}, {"", "b", "abc", "abcc"});
  check("^(ab)*c?$", {"", "ab", "ababc", "c"}, {"a", "abb", "cc"});
  check("[a-c]{2,3}", {"ab", "abc"}, {"a", "abca", "ad"});
  check("[^a]", {"b", "\xC3\xA9", "\xF0\x9F\x98\x80"}, {"a", "\xC3", "bb"});
  check("\\d+\\.\\w{1,2}\\s", {"12.a_ ", "3.b\t"}, {"12.", "1.abc "});
  check(".", {"x", "\xE4\xB8\xAD"}, {"\n", "\xE2\x80\xA8", "\xED\xA0\x80", "\x80"});
  check("\\u00e9\\x41\\u{1F600}",
        {"\xC3\xA9"
         "A\xF0\x9F\x98\x80"},
        {"eA"});
  check("(?:a|b)(?P<n>c)(?<m>d)", {"acd", "bcd"}, {"abcd"});
  check("a{0}b", {"b"}, {"ab"});
  check("x*?y+?", {"y", "xxyy"}, {"x"});
}

TEST(Regex, LongRepetitionsAreCounted) {
  const auto grammar = compiled(GrammarKind::kRegex, "[a-z]{3,40}@[a-z]{20,}");
  ASSERT_NE(grammar, nullptr);
  EXPECT_LT(grammar->automaton().nodes.size(), 20U);  // not one node a round
  const std::string at = "@", tail(20, 'q');
  EXPECT_TRUE(matches(grammar, "abc" + at + tail));
  EXPECT_TRUE(matches(grammar, std::string(40, 'a') + at + tail + "more"));
  EXPECT_FALSE(matches(grammar, "ab" + at + tail));
  EXPECT_FALSE(matches(grammar, std::string(41, 'a') + at + tail));
  EXPECT_FALSE(matches(grammar, "abc" + at + tail.substr(1)));
  Matcher matcher(grammar);
  for (int i = 0; i < 40; ++i) {  // near the end tokens of several letters drop out one length after the other
    expect_mask_is_what_is_accepted(matcher);
    ASSERT_TRUE(matcher.accept(kFirstByte + 'a'));
  }
  expect_mask_is_what_is_accepted(matcher);
  EXPECT_TRUE(has(mask_of(matcher), kFirstByte + '@'));
  EXPECT_FALSE(has(mask_of(matcher), kFirstByte + 'a'));
}

TEST(Regex, WhatIsNotRegularIsNamedWithItsPlace) {
  const auto refused = [](const std::string& text) { return error_of(GrammarKind::kRegex, text); };
  EXPECT_EQ(refused("ab(?=c)"), "regex, at byte 2: look-ahead is not supported");
  EXPECT_EQ(refused("(?<!a)b"), "regex, at byte 0: look-behind is not supported");
  EXPECT_EQ(refused("(a)\\1"), "regex, at byte 4: a back-reference is not supported");
  EXPECT_EQ(refused("\\bword"), "regex, at byte 1: a word boundary is not supported");
  EXPECT_EQ(refused("\\p{L}"), "regex, at byte 1: a Unicode property is not supported");
  EXPECT_EQ(refused("(?i)a"), "regex, at byte 0: an inline flag is not supported");
  EXPECT_EQ(refused("a*+"), "regex, at byte 2: a possessive quantifier is not supported");
  EXPECT_EQ(refused("(^a)"), "regex, at byte 1: '^' inside an expression is not supported");
  EXPECT_EQ(refused("a$b"), "regex, at byte 2: '$' inside an expression is not supported");
  EXPECT_EQ(refused("(a"), "regex, at byte 2: '(' without its ')'");
  EXPECT_EQ(refused("[b-a]"), "regex, at byte 4: a range's ends are in the wrong order");
  for (const char* broken :
       {"a)", "*a", "a{2,1}", "a{", "[a", "\\", "\\x4", "a**", "\\u{110000}", "(?<n", "{a}", "\xFF"}) {
    EXPECT_NE(refused(broken), "") << broken;
  }
}

TEST(Regex, HostileOnesAreRefused) {
  std::string nested = "a";
  for (int i = 0; i < 200; ++i) nested = "(" + nested + ")*";
  EXPECT_NE(error_of(GrammarKind::kRegex, nested), "");
  EXPECT_NE(error_of(GrammarKind::kRegex, "(a|b)*a(a|b){30}"), "");  // 2^30 states
  EXPECT_NE(error_of(GrammarKind::kRegex, "((a{1000}){1000}){1000}"), "");
  EXPECT_NE(error_of(GrammarKind::kRegex, "(a?){30000}a{30000}"), "");
  EXPECT_NE(error_of(GrammarKind::kRegex, std::string(size_t{1} << 20, 'a')), "");
  EXPECT_EQ(error_of(GrammarKind::kRegex, "[]"), "regex cannot be matched by any text");
}

TEST(Choice, OneOfThemAndNothingElse) {
  const auto grammar = compile({GrammarKind::kChoice, "", {"ab", "abc", "\xC3\xA9"}}, vocabulary());
  ASSERT_TRUE(grammar.ok());
  EXPECT_TRUE(matches(*grammar, "ab") && matches(*grammar, "abc") && matches(*grammar, "\xC3\xA9"));
  EXPECT_FALSE(matches(*grammar, "a") || matches(*grammar, "abcab"));
  Matcher matcher(*grammar);
  expect_mask_is_what_is_accepted(matcher);
  EXPECT_TRUE(matcher.accept_bytes("ab"));
  EXPECT_TRUE(has(mask_of(matcher), kEnd));
  EXPECT_TRUE(matcher.accept_bytes("c"));
  EXPECT_EQ(only_token(mask_of(matcher)), kEnd);  // forced
  EXPECT_FALSE(compile({GrammarKind::kChoice, "", {}}, vocabulary()).ok());
  EXPECT_FALSE(compile({GrammarKind::kChoice, "", {"a", ""}}, vocabulary()).ok());
}

TEST(Gbnf, MatchesWhatItSays) {
  const auto check = [](const std::string& text, const std::vector<std::string>& in,
                        const std::vector<std::string>& out) { expect_language(GrammarKind::kGbnf, text, in, out); };
  check("root ::= \"a\" other*  # comment\nother ::= \"b\" | (\"c\"\n \"d\")+\n", {"a", "ab", "acdbcd"}, {"b", "ac"});
  check("root ::= \"(\" root \")\" | \"x\"", {"x", "(x)", "(((x)))"}, {"(x", "((x)", "x)"});
  check("root ::= [a-c]{2} [^\\n\"]? \"\\x41\"",
        {"abA",
         "ab\xC3\xA9"
         "A"},
        {"aA", "ab\nA", "ab"});
  check("root ::= e\ne ::= t (\"+\" t)*\nt ::= [0-9]+ | \"(\" e \")\"", {"1", "12+3", "(1+(2))+3"}, {"1+", "(1", "+1"});
  check("root ::= n n n \"z\"\nn ::= \"a\"?", {"z", "az", "aaaz"}, {"aaaaz"});
  check("root ::= (n \"b\")* n*\nn ::= \"a\"* m\nm ::= \"c\" n |", {"", "ab", "aacab", "caca"}, {"bd"});
}

TEST(Gbnf, MistakesAreNamedWithTheirPlace) {
  const auto refused = [](const std::string& text) { return error_of(GrammarKind::kGbnf, text); };
  EXPECT_EQ(refused("a ::= \"x\""), "grammar: there is no rule 'root'");
  EXPECT_EQ(refused("root ::= \"x\"\n  b"), "grammar, line 2, column 4: a rule's name has to be followed by '::='");
  EXPECT_EQ(refused("root ::= a"), "grammar, line 1, column 11: rule 'a' is used but not defined");
  EXPECT_EQ(refused("root ::= root \"a\" | \"b\""),
            "grammar: rule 'root' refers to itself before anything else (left recursion)");
  EXPECT_NE(refused("root ::= a \"x\"\na ::= n root\nn ::= \"y\"?"), "");  // the same behind an empty text
  EXPECT_EQ(refused("root ::= \"a\" root"), "grammar: rule 'root' cannot be matched by any text");
  EXPECT_EQ(refused("root ::= <[7]>"), "grammar, line 1, column 10: tokens by name or number are not supported");
  for (const char* broken : {"root ::= (", "root ::= \"a", "root ::= [a", "root ::= a{2", "root ::= \"\\q\"",
                             "root ::= )", "root ::= \"\\"}) {
    EXPECT_NE(refused(broken), "") << broken;
  }
}

TEST(Matcher, EndsOnlyWhereTheGrammarIsComplete) {
  Matcher matcher(compiled(GrammarKind::kRegex, "a+"));
  EXPECT_FALSE(matcher.accept(kEnd));
  EXPECT_FALSE(matcher.accept(kControl));
  EXPECT_FALSE(matcher.accept(-1) || matcher.accept(1 << 20));
  EXPECT_TRUE(matcher.accept(kFirstByte + 'a'));
  Matcher copy = matcher;  // independent
  EXPECT_TRUE(matcher.accept(kEnd));
  EXPECT_TRUE(matcher.is_ended());
  EXPECT_FALSE(matcher.accept(kFirstByte + 'a') || matcher.accept(kEnd));
  EXPECT_EQ(only_token(mask_of(matcher)), std::nullopt);
  EXPECT_TRUE(copy.accept(kFirstByte + 'a') && copy.is_complete());
}

TEST(Matcher, ARefusedTokenChangesNothing) {
  Matcher matcher(compiled(GrammarKind::kRegex, "abab"));
  EXPECT_FALSE(matcher.accept_bytes("abc"));
  EXPECT_TRUE(matcher.accept_bytes("abab") && matcher.is_complete());
}

TEST(Matcher, TheSameSpellingTwiceIsTwoTokens) {
  Matcher matcher(compiled(GrammarKind::kRegex, "ab"));
  const std::vector<uint64_t> words = mask_of(matcher);
  int num_ab = 0;
  for (int32_t id = 0; id < vocabulary()->vocab_size(); ++id)
    num_ab += has(words, id) && vocabulary()->bytes(id) == "ab";
  EXPECT_EQ(num_ab, 2);
}

TEST(Matcher, AmbiguityBeyondBoundsIsAnErrorAndNotATrap) {
  std::string text = "root ::= r0\n";  // 2^k stacks after k calls
  for (int i = 0; i < 14; ++i) {
    text += fmt::format("r{0} ::= a{0} \"x\" | b{0} \"y\"\na{0} ::= r{1} \"p\"\nb{0} ::= r{1} \"q\"\n", i, i + 1);
  }
  text += "r14 ::= \"z\" r0 | \"z\"";
  const auto grammar = compile({GrammarKind::kGbnf, text}, vocabulary());
  ASSERT_FALSE(grammar.ok());
  EXPECT_NE(grammar.error().message.find("too ambiguous"), std::string::npos) << grammar.error().message;
}

TEST(JsonObject, AnyOfThemAndNothingElse) {
  expect_language(GrammarKind::kJsonObject, "",
                  {"{}", R"({"a": [1, -2.5e+3, {"b": null}], "c": "\u00e9\n\"", "d":true})",
                   "{\n  \"a\": {\n    \"b\": []\n  }\n}"},
                  {"[]", "", "{", R"({"a"})", R"({"a":01})", "{\"a\":\"\n\"}", R"({"a":"\ud800"})", R"({"a":1,})",
                   R"({"a":.5})", "{} ", R"({"a":"\x"})"});
  Matcher matcher(compiled(GrammarKind::kJsonObject, ""));
  ASSERT_TRUE(matcher.accept_bytes("{" + std::string(33, ' ')));
  EXPECT_FALSE(matcher.accept_bytes(" "));  // runs of spaces are bounded
}

TEST(JsonObject, NestsAsDeepAsTheTextIsLong) {
  Matcher matcher(compiled(GrammarKind::kJsonObject, ""));
  ASSERT_TRUE(matcher.accept_bytes("{\"a\":"));
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(matcher.accept(kFirstByte + '['));
  mask_of(matcher);
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(matcher.accept(kFirstByte + ']'));
  EXPECT_TRUE(matcher.accept_bytes("}") && matcher.is_complete());
}

TEST(Cache, KeepsWhatWasUsedLast) {
  GrammarCache cache(vocabulary(), 2);
  const auto first = cache.get({GrammarKind::kRegex, "a"});
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(cache.get({GrammarKind::kRegex, "b"}).ok());
  EXPECT_EQ(*cache.get({GrammarKind::kRegex, "a"}), *first);
  ASSERT_TRUE(cache.get({GrammarKind::kRegex, "c"}).ok());
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(*cache.get({GrammarKind::kRegex, "a"}), *first);
  EXPECT_FALSE(cache.get({GrammarKind::kRegex, "("}).ok());
  EXPECT_NE((GrammarSpec{GrammarKind::kChoice, "", {"a", "b"}}.key()),
            (GrammarSpec{GrammarKind::kChoice, "", {"a:1:b"}}.key()));
}

}  // namespace
}  // namespace brio::grammar
