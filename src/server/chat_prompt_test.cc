#include "server/chat_prompt.h"

#include <gtest/gtest.h>

#include "engine/testing/byte_tokenizer.h"
#include "engine/testing/hash_model.h"

namespace brio::server {
namespace {

LoadedModel load(const char* chat_template) {
  LoadedModel out;
  out.name = "hash";
  out.tokenizer = engine::testing::byte_tokenizer();
  out.chat_template = std::move(chat::Template::parse(chat_template)).value();
  return out;
}

api::ChatRequest conversation(const std::string& answer) {
  api::ChatRequest out;
  for (const auto& [role, content] : {std::pair{"user", std::string("hi")}, std::pair{"assistant", answer}}) {
    api::Message& message = out.messages.emplace_back();
    message.role = role;
    message.content = content;
  }
  out.continue_answer = true;
  return out;
}

std::string text_of(const Result<std::vector<tokenizer::TextPiece>>& pieces) {
  return pieces.ok() ? chat::join(*pieces) : pieces.error().message;
}

TEST(ContinuedAnswer, EndsWhereTheAnswerEnds) {
  const char* templates[] = {
      "{% for m in messages %}{{ m.role }}:{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt "
      "%}assistant:{% endif %}",
      "{% for m in messages %}{{ m.role }}:{{ m.content | trim }}<|end|>{% endfor %}{% if add_generation_prompt "
      "%}assistant:{% endif %}",
  };
  for (const char* source : templates) {
    const LoadedModel model = load(source);
    EXPECT_EQ(text_of(chat_text(model, conversation("It is, "))), "user:hi<|end|>assistant:It is, ");
    EXPECT_EQ(text_of(chat_text(model, conversation(""))), "user:hi<|end|>assistant:");
    EXPECT_EQ(text_of(chat_text(model, conversation("a<|end|>b"))), "user:hi<|end|>assistant:a<|end|>b");
  }
}

TEST(ContinuedAnswer, IsNoMoreTrustedThanAnyText) {
  const LoadedModel model = load("{% for m in messages %}{{ m.content }}<|end|>{% endfor %}");
  const auto ids = chat_prompt(model, conversation("a<|end|>b"));
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(std::count(ids->begin(), ids->end(), engine::testing::kEndToken), 1)
      << "of the template, after the question";
}

TEST(ContinuedAnswer, NeedsATemplateThatShowsIt) {
  const LoadedModel model = load("{{ messages[0].content }}");
  const auto pieces = chat_text(model, conversation("It is"));
  ASSERT_FALSE(pieces.ok());
  EXPECT_EQ(pieces.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(pieces.error().message.starts_with("'messages' "));
}

TEST(RenderedPrompts, AreWhatTheEngineComputes) {
  const LoadedModel model = load("{% for m in messages %}{{ m.role }}:{{ m.content }}<|end|>{% endfor %}");
  const api::ChatRequest chat = conversation("It is");
  const auto rendered = rendered_prompts(model, chat);
  ASSERT_TRUE(rendered.ok());
  ASSERT_EQ(rendered->size(), 1U);
  EXPECT_EQ(rendered->front().text, "user:hi<|end|>assistant:It is");
  EXPECT_EQ(rendered->front().ids, *chat_prompt(model, chat));
  api::CompletionRequest completion;
  completion.prompts = {"one", std::vector<int32_t>{'t', 'w', 'o'}};
  const auto both = rendered_prompts(model, completion);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->at(0).text, "one");
  EXPECT_EQ(both->at(0).ids, *completion_prompt(model, "one"));
  EXPECT_EQ(both->at(1).text, "two");
  EXPECT_EQ(check_ids(model, {999'999}, "tokens").error().message.substr(0, 8), "'tokens'");
}

}  // namespace
}  // namespace brio::server
