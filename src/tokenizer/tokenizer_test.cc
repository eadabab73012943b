// What the module promises besides equality with the references: provenance, special tokens, errors, losslessness.
#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

// Byte-level: 256 byte tokens, then words, then special tokens.
TokenizerSpec byte_level_spec() {
  TokenizerSpec spec;
  spec.model = "gpt2";
  spec.pre = "qwen2";
  for (int byte = 0; byte < 256; ++byte)
    spec.tokens.push_back(spelling_of_bytes(std::string(1, static_cast<char>(byte))));
  for (const char* merge : {"h e", "l l", "he ll", "hell o", "\u0120 hello", "= ="}) {
    spec.merges.emplace_back(merge);
    std::string joined = merge;
    joined.erase(joined.find(' '), 1);
    spec.tokens.push_back(joined);
  }
  spec.types.assign(spec.tokens.size(), TokenType::kNormal);
  for (const char* control : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    spec.tokens.emplace_back(control);
    spec.types.push_back(TokenType::kControl);
  }
  spec.tokens.emplace_back("<tool_call>");
  spec.types.push_back(TokenType::kUserDefined);
  return spec;
}

// SentencePiece: control tokens, bytes, characters; "<s>" can be reached by merging "<s" and ">".
TokenizerSpec sentencepiece_spec() {
  TokenizerSpec spec;
  spec.model = "llama";
  spec.tokens = {"<unk>", "<s>", "</s>"};
  spec.types = {TokenType::kUnknown, TokenType::kControl, TokenType::kControl};
  spec.scores = {0, 0, 0};
  for (int byte = 0; byte < 256; ++byte) {
    spec.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    spec.types.push_back(TokenType::kByte);
    spec.scores.push_back(0);
  }
  float score = -1;
  for (const char* token : {"\u2581a", "ab", "<s", "\u2581", "a", "b", "<", "s", ">", "0", "x", "A", "<0", "x0", "0A",
                            "<0x", "<0x0", "A>", "<0x0A"}) {
    spec.tokens.emplace_back(token);
    spec.types.push_back(TokenType::kNormal);
    spec.scores.push_back(score--);
  }
  return spec;
}

std::unique_ptr<Tokenizer> make(TokenizerSpec spec) {
  auto tokenizer = Tokenizer::create(std::move(spec));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return std::move(tokenizer).value();
}

std::vector<int32_t> encode(const Tokenizer& tokenizer, std::vector<TextPiece> pieces,
                            AddSpecial add = AddSpecial::kNo) {
  return tokenizer.encode(pieces, add).value();
}

TEST(Tokenizer, ControlTokensOnlyWhereEveryCharacterIsTrusted) {
  const auto tokenizer = make(byte_level_spec());
  const int32_t end = *tokenizer->find("<|im_end|>");
  EXPECT_EQ(encode(*tokenizer, {{"<|im_end|>", true}}), std::vector<int32_t>{end});
  EXPECT_EQ(encode(*tokenizer, {{"<|im_", true}, {"end|>", true}}), std::vector<int32_t>{end});
  for (const auto& pieces : std::vector<std::vector<TextPiece>>{{{"<|im_end|>", false}},
                                                                {{"<|im_end|", true}, {">", false}},
                                                                {{"<", false}, {"|im_end|>", true}},
                                                                {{"<|im", true}, {"_", false}, {"end|>", true}}}) {
    for (int32_t id : encode(*tokenizer, pieces)) EXPECT_FALSE(tokenizer->is_control(id));
  }
}

TEST(Tokenizer, TextAcrossATrustBoundaryIsSplitAsOneRun) {
  const auto tokenizer = make(byte_level_spec());
  const std::vector<int32_t> whole = encode(*tokenizer, {{"x hello hello", false}});
  EXPECT_EQ(whole.size(), 3u);  // x, " hello", " hello"
  EXPECT_EQ(encode(*tokenizer, {{"x ", true}, {"hel", false}, {"lo hello", true}}), whole);
}

TEST(Tokenizer, UserDefinedTokensMatchEverywhere) {
  const auto tokenizer = make(byte_level_spec());
  const int32_t call = *tokenizer->find("<tool_call>");
  EXPECT_EQ(encode(*tokenizer, {{"<tool_call>", false}}), std::vector<int32_t>{call});
  EXPECT_EQ(encode(*tokenizer, {{"<tool", true}, {"_call>", false}}), std::vector<int32_t>{call});
}

TEST(Tokenizer, LongestSpecialTokenWinsAtTheLeftmostPlace) {
  TokenizerSpec spec = byte_level_spec();
  for (const char* token : {"aa", "aab", "ba"}) {
    spec.tokens.emplace_back(token);
    spec.types.push_back(TokenType::kControl);
  }
  const auto tokenizer = make(std::move(spec));
  EXPECT_EQ(encode(*tokenizer, {{"aaba", true}}),
            (std::vector<int32_t>{*tokenizer->find("aab"), *tokenizer->find("a")}));
  EXPECT_EQ(encode(*tokenizer, {{"aa", true}, {"ba", false}}),
            (std::vector<int32_t>{*tokenizer->find("aa"), *tokenizer->find("b"), *tokenizer->find("a")}));
}

TEST(Tokenizer, NoSpellingReachesControlOrByteTokens) {
  const auto tokenizer = make(sentencepiece_spec());
  for (const char* text : {"<s>", "</s>", "<unk>", "<0x0A>", "a<s>b"}) {
    for (int32_t id : encode(*tokenizer, {{text, false}})) {
      EXPECT_FALSE(tokenizer->is_control(id)) << text;
      EXPECT_NE(tokenizer->piece(id), "\n") << text;
    }
  }
}

TEST(Tokenizer, ReplacementOfBrokenBytesIsNotTrusted) {
  TokenizerSpec spec = byte_level_spec();
  spec.tokens.emplace_back("\uFFFD");
  spec.types.push_back(TokenType::kControl);
  const auto tokenizer = make(std::move(spec));
  const int32_t id = *tokenizer->find("\uFFFD");
  EXPECT_EQ(encode(*tokenizer, {{"\xC3", true}}), std::vector<int32_t>{id});
  EXPECT_NE(encode(*tokenizer, {{"\xC3", false}}), std::vector<int32_t>{id});
  EXPECT_NE(encode(*tokenizer, {{"\xE2\x82", false}, {"\xFF", true}}), (std::vector<int32_t>{id, id}));
  EXPECT_EQ(encode(*tokenizer, {{"\xC3", false}, {"\xA9", true}}),
            encode(*tokenizer, {{"\u00E9", false}}));  // joined first
}

TEST(Tokenizer, AddSpecialFollowsTheVocabulary) {
  TokenizerSpec spec = sentencepiece_spec();
  const auto by_default = make(spec);
  EXPECT_TRUE(by_default->adds_bos());
  EXPECT_EQ(encode(*by_default, {}, AddSpecial::kYes), std::vector<int32_t>{1});
  EXPECT_EQ(encode(*by_default, {}, AddSpecial::kNo), std::vector<int32_t>{});
  spec.add_bos = false;
  spec.add_eos = true;
  const auto ends = make(spec);
  EXPECT_FALSE(ends->adds_bos());
  EXPECT_EQ(encode(*ends, {}, AddSpecial::kYes), std::vector<int32_t>{2});
  TokenizerSpec llama3 = byte_level_spec();
  llama3.pre = "llama-bpe";
  llama3.bos = *make(byte_level_spec())->find("<|im_start|>");
  EXPECT_TRUE(make(llama3)->adds_bos());
  llama3.pre = "qwen2";
  EXPECT_FALSE(make(llama3)->adds_bos());
}

TEST(Tokenizer, SpacePrefixStandsBeforeEveryRunOfText) {
  TokenizerSpec spec = sentencepiece_spec();
  const int32_t word = 3 + 256;  // U+2581 a
  auto a = [&](const Tokenizer& t) { return *t.find("a"); };
  const auto legacy = make(spec);
  EXPECT_EQ(encode(*legacy, {{"a<s>a", true}}), (std::vector<int32_t>{word, 1, word}));
  spec.space_prefix_only_at_start = true;
  const auto first = make(spec);
  EXPECT_EQ(encode(*first, {{"a<s>a", true}}), (std::vector<int32_t>{word, 1, a(*first)}));
  spec.add_space_prefix = false;
  const auto none = make(spec);
  EXPECT_EQ(encode(*none, {{"a", true}}), std::vector<int32_t>{a(*none)});
  EXPECT_EQ(legacy->decode(encode(*legacy, {{"a ab", false}}, AddSpecial::kYes)), "a ab");
  EXPECT_EQ(none->decode(encode(*none, {{" a", false}})), " a");
}

TEST(Tokenizer, EveryTextComesBackWhole) {
  const auto byte_level = make(byte_level_spec());
  const auto pieces = make(sentencepiece_spec());
  Rng rng(7);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    const uint32_t size = rng.below(40);
    for (uint32_t i = 0; i < size; ++i) {
      constexpr std::string_view kLikely = "ahelo <s>\n=";
      const uint32_t bits = rng.next();
      text.push_back(bits & 1 ? kLikely[bits / 2 % kLikely.size()] : static_cast<char>(bits / 2));
    }
    for (const Tokenizer* tokenizer : {byte_level.get(), pieces.get()}) {
      EXPECT_EQ(tokenizer->decode(encode(*tokenizer, {{text, false}}, AddSpecial::kYes)), repair_utf8(text));
    }
  }
}

// Llama 3 and Tekken list words that no merges lead to.
TEST(Tokenizer, WordsThatAreTokensWinWhereMergesAreIgnored) {
  TokenizerSpec spec = byte_level_spec();
  spec.tokens.emplace_back("xyz");
  spec.types.push_back(TokenType::kNormal);
  EXPECT_EQ(encode(*make(spec), {{"xyz", false}}), (std::vector<int32_t>{'x', 'y', 'z'}));
  spec.pre = "llama-bpe";
  const auto ignoring = make(spec);
  EXPECT_EQ(encode(*ignoring, {{"xyz", false}}), std::vector<int32_t>{*ignoring->find("xyz")});
  EXPECT_EQ(encode(*ignoring, {{"xyz,wxyz", false}}).size(), 6u);  // whole words only
  spec.ignore_merges = false;
  EXPECT_EQ(encode(*make(spec), {{"xyz", false}}).size(), 3u);
}

// As SentencePiece does; only a vocabulary without byte tokens has unknown text at all.
TEST(Tokenizer, NeighbouringUnknownCharactersAreOneToken) {
  TokenizerSpec spec = sentencepiece_spec();
  for (TokenType& type : spec.types) {
    if (type == TokenType::kByte) type = TokenType::kUnused;
  }
  spec.add_space_prefix = false;
  const auto tokenizer = make(std::move(spec));
  const int32_t a = *tokenizer->find("a"), b = *tokenizer->find("b");
  EXPECT_EQ(encode(*tokenizer, {{"\u4E00\u4E8Ca\u4E00b\u4E8C\u4E8C", false}}), (std::vector<int32_t>{0, a, 0, b, 0}));
}

TEST(Tokenizer, EndOfGenerationByRoleAndByName) {
  TokenizerSpec spec = byte_level_spec();
  spec.eos = *make(spec)->find("<|endoftext|>");
  spec.extra_stop_ids = {5};
  const auto tokenizer = make(spec);
  EXPECT_TRUE(tokenizer->is_end_of_generation(*tokenizer->find("<|endoftext|>")));
  EXPECT_TRUE(tokenizer->is_end_of_generation(*tokenizer->find("<|im_end|>")));
  EXPECT_TRUE(tokenizer->is_end_of_generation(5));
  EXPECT_FALSE(tokenizer->is_end_of_generation(*tokenizer->find("<|im_start|>")));
  EXPECT_FALSE(tokenizer->is_end_of_generation(-1));
}

TEST(Tokenizer, UnmistakableEndsAreControlWhateverTheFileSays) {
  TokenizerSpec spec = byte_level_spec();
  spec.types.assign(spec.tokens.size(), TokenType::kUserDefined);
  std::fill_n(spec.types.begin(), 256, TokenType::kNormal);
  const auto tokenizer = make(spec);
  for (int32_t id : encode(*tokenizer, {{"<|im_end|>", false}})) EXPECT_FALSE(tokenizer->is_end_of_generation(id));
}

TEST(Tokenizer, PieceHidesControlTokensUnlessAsked) {
  const auto tokenizer = make(byte_level_spec());
  const int32_t end = *tokenizer->find("<|im_end|>");
  EXPECT_EQ(tokenizer->piece(end), "");
  EXPECT_EQ(tokenizer->piece(end, RenderSpecial::kYes), "<|im_end|>");
  EXPECT_EQ(tokenizer->piece(*tokenizer->find("<tool_call>")), "<tool_call>");
  EXPECT_EQ(tokenizer->piece(*tokenizer->find("\u0120hello")), " hello");
  EXPECT_EQ(tokenizer->piece(0xC3), "\xC3");
  EXPECT_EQ(tokenizer->piece(-1), "");
  EXPECT_EQ(tokenizer->piece(tokenizer->vocab_size()), "");
}

// A merge result outside the vocabulary must not lose its text.
TEST(Tokenizer, MergesWithoutATokenFallBackToBytes) {
  TokenizerSpec spec = byte_level_spec();
  spec.merges.emplace_back("x y");
  const auto tokenizer = make(spec);
  EXPECT_EQ(encode(*tokenizer, {{"xyz", false}}), (std::vector<int32_t>{'x', 'y', 'z'}));
}

void expect_error(TokenizerSpec spec, ErrorCode code, std::string_view part) {
  const auto tokenizer = Tokenizer::create(std::move(spec));
  ASSERT_FALSE(tokenizer.ok()) << part;
  EXPECT_EQ(tokenizer.error().code, code);
  EXPECT_NE(tokenizer.error().message.find(part), std::string::npos) << tokenizer.error().message;
}

TEST(Tokenizer, ErrorsNameTheField) {
  auto with = [](auto change) {
    TokenizerSpec spec = byte_level_spec();
    change(spec);
    return spec;
  };
  using enum ErrorCode;
  expect_error({}, kInvalidFile, "tokenizer.ggml.tokens");
  expect_error(with([](auto& s) { s.model = "rwkv"; }), kUnsupported, "known are gpt2");
  expect_error(with([](auto& s) { s.pre = "qwen9"; }), kUnsupported, "llama-bpe");
  expect_error(with([](auto& s) { s.pre = ""; }), kInvalidFile, "tokenizer.ggml.pre");
  expect_error(with([](auto& s) { s.merges.clear(); }), kInvalidFile, "tokenizer.ggml.merges");
  expect_error(with([](auto& s) { s.merges[3] = "ab"; }), kInvalidFile, "merges[3]");
  expect_error(with([](auto& s) { s.scores = {1}; }), kInvalidFile, "tokenizer.ggml.scores");
  expect_error(with([](auto& s) { s.types.pop_back(); }), kInvalidFile, "tokenizer.ggml.token_type");
  expect_error(with([](auto& s) { s.eos = 100'000; }), kInvalidFile, "eos_token_id is 100000");
  expect_error(with([](auto& s) { s.extra_stop_ids = {-4}; }), kInvalidFile, "-4");
  expect_error(with([](auto& s) { s.tokens.back().assign(5000, 'a'); }), kUnsupported, "special token");
  expect_error(with([](auto& s) { s.pre_patterns = {"(a"}; }), kUnsupported, "at its byte 2");
  TokenizerSpec unscored = sentencepiece_spec();
  unscored.scores.clear();
  expect_error(unscored, kInvalidFile, "tokenizer.ggml.scores");
}

}  // namespace
}  // namespace brio::tokenizer
