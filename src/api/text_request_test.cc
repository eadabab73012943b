#include "api/text_request.h"

#include <gtest/gtest.h>

namespace brio::api {
namespace {

TEST(Tokenize, TextsOfBothFamiliesAndConversations) {
  const auto prompt = parse_tokenize(R"({"model": "m", "prompt": "a"})");
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  EXPECT_EQ(generation(*prompt).model, "m");
  EXPECT_EQ(std::get<std::string>(std::get<CompletionRequest>(*prompt).prompts.at(0)), "a");
  EXPECT_TRUE(std::get<CompletionRequest>(*prompt).add_special_tokens);
  const auto content = parse_tokenize(R"({"content": "b"})");
  EXPECT_FALSE(std::get<CompletionRequest>(*content).add_special_tokens);
  EXPECT_TRUE(
      std::get<CompletionRequest>(*parse_tokenize(R"({"content": "b", "add_special": true})")).add_special_tokens);
  EXPECT_FALSE(std::get<CompletionRequest>(*parse_tokenize(R"({"prompt": "b", "add_special_tokens": false})"))
                   .add_special_tokens);
  const auto chat = parse_tokenize(R"({"messages": [{"role": "user", "content": "hi"}]})");
  ASSERT_TRUE(chat.ok());
  EXPECT_TRUE(std::holds_alternative<ChatRequest>(*chat));
}

TEST(Tokenize, ErrorsOpenWithTheFieldAtFault) {
  const auto message = [](const auto& parsed) { return parsed.ok() ? "accepted" : parsed.error().message; };
  EXPECT_TRUE(message(parse_tokenize("{}")).starts_with("'prompt' is missing"));
  EXPECT_TRUE(message(parse_tokenize(R"({"content": 1})")).starts_with("'content' "));
  EXPECT_TRUE(
      message(parse_tokenize(R"({"prompt": "x", "add_special_tokens": 1})")).starts_with("'add_special_tokens' "));
  EXPECT_TRUE(message(parse_detokenize("{}")).starts_with("'tokens' "));
  EXPECT_TRUE(message(parse_detokenize(R"({"tokens": [1, -1]})")).starts_with("'tokens[1]' "));
  EXPECT_TRUE(message(parse_apply_template("{}")).starts_with("'messages' "));
}

TEST(Tokenize, Answers) {
  EXPECT_EQ(parse_detokenize(R"({"tokens": [3, 4]})")->tokens, (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(tokenized_json(std::vector<int32_t>{3, 4}, 99), R"({"tokens":[3,4],"count":2,"max_model_len":99})");
  EXPECT_EQ(tokenized_json({}, 99), R"({"tokens":[],"count":0,"max_model_len":99})");
  EXPECT_EQ(text_json("\"x\""), R"({"prompt":"\"x\"","content":"\"x\""})");
}

}  // namespace
}  // namespace brio::api
