#include <gtest/gtest.h>

#include "tokenizer/tokenizer.h"

namespace brio::tokenizer {
namespace {

const std::string kByteLevel = R"({
  "added_tokens": [{"id": 4, "content": "<e>", "special": true},
                   {"id": 5, "content": "<u>", "special": false, "rstrip": true}],
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "\\p{N}"}, "behavior": "Isolated", "invert": false},
    {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}]},
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<e>", "type_id": 0}},
    {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"<e>": {"id": "<e>", "ids": [4], "tokens": ["<e>"]}}},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3}, "merges": [["a", "b"]]}})";

std::string with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TokenizerJson, ReadsTheWholePipeline) {
  const auto spec =
      spec_from_tokenizer_json(kByteLevel, R"({"eos_token": {"content": "<e>"}, "pad_token": "nowhere"})");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->model, "gpt2");
  EXPECT_EQ(spec->tokens, (std::vector<std::string>{"a", "b", "ab", "\u0120", "<e>", "<u>"}));
  EXPECT_EQ(spec->merges, std::vector<std::string>{"a b"});
  EXPECT_EQ(spec->types[4], TokenType::kControl);
  EXPECT_EQ(spec->types[5], TokenType::kUserDefined);
  EXPECT_EQ(spec->pre_patterns.size(), 2u);
  EXPECT_TRUE(spec->normalize_nfc);
  EXPECT_EQ(spec->bos, 4);
  EXPECT_EQ(spec->eos, 4);
  EXPECT_EQ(spec->pad, -1);
  EXPECT_EQ(spec->add_bos, true);
  EXPECT_EQ(spec->add_eos, false);
  EXPECT_EQ(spec->strip_right_ids, std::vector<int32_t>{5});
  const auto tokenizer = Tokenizer::create(*spec).value();
  EXPECT_EQ(tokenizer->encode("ab<u>  ab a", Trust::kTrusted, AddSpecial::kYes).value(),
            (std::vector<int32_t>{4, 2, 5, 2, 3, 0}));
}

// Mistral's newer files. The ids are those of the package `tokenizers`.
TEST(TokenizerJson, MetaspacePutsNoSecondSpaceInFront) {
  const std::string always = R"({
    "added_tokens": [{"id": 3, "content": "<e>", "special": true}],
    "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": false},
    "model": {"type": "BPE", "byte_fallback": true, "vocab": {"a": 0, "\u2581": 1, "\u2581a": 2},
              "merges": [["\u2581", "a"]]}})";
  const auto encode = [](const std::string& text, const std::string& vocabulary) {
    const auto spec = spec_from_tokenizer_json(vocabulary, "");
    EXPECT_TRUE(spec.ok()) << spec.error().message;
    return Tokenizer::create(*spec).value()->encode(text, Trust::kTrusted, AddSpecial::kNo).value();
  };
  EXPECT_EQ(encode("a<e>a", always), (std::vector<int32_t>{2, 3, 2}));
  EXPECT_EQ(encode(" a<e>  a", always), (std::vector<int32_t>{2, 3, 1, 2}));
  EXPECT_EQ(encode("\u2581a", always), std::vector<int32_t>{2});
  const std::string first = with(always, "always", "first");
  EXPECT_EQ(encode("a<e>a", first), (std::vector<int32_t>{2, 3, 0}));
  EXPECT_EQ(encode(" a<e> a", first), (std::vector<int32_t>{2, 3, 2}));
}

// DeepSeek's "\\s+$" as written is quadratic: 200 kB of spaces would hit the test's time limit.
TEST(TokenizerJson, SlowExpressionsAreReplaced) {
  const std::string splits =
      R"j({"type": "Split", "pattern": {"Regex": "[\r\n]"}, "behavior": "Isolated", "invert": false},
    {"type": "Split", "pattern": {"Regex": "\\s+$"}, "behavior": "Isolated", "invert": false},
    {"type": "Split", "pattern": {"Regex": "\\d{1,3}(?=(?:\\d{3})*\\b)"}, "behavior": "Isolated", "invert": false})j";
  const std::string first =
      R"({"type": "Split", "pattern": {"Regex": "\\p{N}"}, "behavior": "Isolated", "invert": false})";
  const auto spec = spec_from_tokenizer_json(with(kByteLevel, first, splits), "");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  const auto tokenizer = Tokenizer::create(*spec).value();
  EXPECT_TRUE(tokenizer
                  ->encode(std::string(200'000, ' ') + "x" + std::string(200'000, '1') + "x", Trust::kUntrusted,
                           AddSpecial::kNo)
                  .ok());
  EXPECT_EQ(tokenizer->encode("ab   ", Trust::kUntrusted, AddSpecial::kNo).value(), (std::vector<int32_t>{2, 3, 3, 3}));
}

void expect_error(const std::string& text, ErrorCode code, std::string_view part) {
  const auto spec = spec_from_tokenizer_json(text, "");
  ASSERT_FALSE(spec.ok()) << part;
  EXPECT_EQ(spec.error().code, code) << spec.error().message;
  EXPECT_NE(spec.error().message.find(part), std::string::npos) << spec.error().message;
}

TEST(TokenizerJson, ErrorsNameThePart) {
  using enum ErrorCode;
  expect_error("", kInvalidFile, "tokenizer.json");
  expect_error("[1, 2", kInvalidFile, "byte");
  expect_error("[]", kInvalidFile, "model.vocab");
  expect_error(std::string(1000, '['), kInvalidFile, "tokenizer.json");
  expect_error(R"({"model": {"type": "Unigram", "vocab": [["a", -1.0]]}})", kUnsupported, "Unigram");
  expect_error(with(kByteLevel, R"("a": 0)", R"("a": 99999999)"), kInvalidFile, "'a'");
  expect_error(with(kByteLevel, R"("a": 0)", R"("a": -1)"), kInvalidFile, "'a'");
  expect_error(with(kByteLevel, R"("a": 0)", R"("a": "0")"), kInvalidFile, "'a'");
  expect_error(with(kByteLevel, R"([["a", "b"]])", R"([["a"]])"), kInvalidFile, "model.merges[0]");
  expect_error(with(kByteLevel, R"("NFC")", R"("NFKC")"), kUnsupported, "NFKC");
  expect_error(with(kByteLevel, R"("add_prefix_space": false)", R"("add_prefix_space": true)"), kUnsupported,
               "add_prefix_space");
  expect_error(with(kByteLevel, R"("Isolated")", R"("MergedWithNext")"), kUnsupported, "MergedWithNext");
  expect_error(with(kByteLevel, R"(\\p{N})", R"([\\p{L}&&[^\\p{Lu}]])"), kUnsupported, "Split pattern");
  expect_error(with(kByteLevel, R"("ids": [4])", R"("ids": [])"), kInvalidFile, "<e>");
  expect_error(with(kByteLevel, R"("special": true)", R"("special": true, "single_word": true)"), kUnsupported,
               "single_word");
  EXPECT_EQ(spec_from_tokenizer_json(kByteLevel, "{").error().message.substr(0, 21), "tokenizer_config.json");
}

}  // namespace
}  // namespace brio::tokenizer
