#include "api/anthropic_request.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace brio::api {
namespace {

constexpr std::string_view kFull = R"({
  "model": "claude-x", "max_tokens": 64, "stream": true, "temperature": 0.25, "top_k": 7, "top_p": 0.5,
  "stop_sequences": ["END", "###"], "metadata": {"user_id": "u"}, "service_tier": "auto",
  "thinking": {"type": "enabled", "budget_tokens": 2048}, "output_config": {"effort": "high"},
  "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "Be kind."}],
  "messages": [
    {"role": "user", "content": "one"},
    {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "three"}]},
    {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "hm", "signature": "any"}, {"type": "redacted_thinking", "data": "x"},
      {"type": "text", "text": "calling"}, {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}}]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "42"}]},
      {"type": "tool_result", "tool_use_id": "t2"}, {"type": "text", "text": "go on"}]},
    {"role": "assistant", "content": "The answer is"}
  ]
})";

TEST(AnthropicMessage, EveryFieldReachesTheNativeRequest) {
  const auto parsed = parse_anthropic_message(kFull);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(parsed->stream);
  const ChatRequest& chat = parsed->chat;
  const Generation& g = chat.generation;
  EXPECT_EQ(g.model, "claude-x");
  EXPECT_EQ(g.max_tokens, 64);
  EXPECT_TRUE(g.cut_to_context);
  EXPECT_FLOAT_EQ(g.sampling.temperature, 0.25F);
  EXPECT_EQ(g.sampling.top_k, 7);
  EXPECT_FLOAT_EQ(g.sampling.top_p, 0.5F);
  EXPECT_EQ(g.stop, (std::vector<std::string>{"END", "###"}));
  EXPECT_EQ(chat.template_kwargs_json, R"({"reasoning_effort":"high","enable_thinking":true})");
  ASSERT_EQ(chat.messages.size(), 7U);
  EXPECT_EQ(chat.messages[0].role, "system");
  EXPECT_EQ(chat.messages[0].content, "Be brief.\nBe kind.");
  EXPECT_EQ(chat.messages[1].role, "user");
  EXPECT_EQ(chat.messages[1].content, "one\ntwo\nthree") << "turns of one role are one turn";
  EXPECT_EQ(chat.messages[2].content, "calling");
  EXPECT_EQ(chat.messages[2].reasoning, "hm");
  ASSERT_EQ(chat.messages[2].tool_calls.size(), 1U);
  EXPECT_EQ(chat.messages[2].tool_calls[0].id, "t1");
  EXPECT_EQ(chat.messages[2].tool_calls[0].arguments_json, R"({"x":1})");
  EXPECT_EQ(chat.messages[3].role, "tool");
  EXPECT_EQ(chat.messages[3].tool_call_id, "t1");
  EXPECT_EQ(chat.messages[3].content, "42");
  EXPECT_EQ(chat.messages[4].role, "tool");
  EXPECT_EQ(chat.messages[4].content, "");
  EXPECT_EQ(chat.messages[5].role, "user");
  EXPECT_EQ(chat.messages[5].content, "go on");
  EXPECT_EQ(chat.messages[6].content, "The answer is");
  EXPECT_TRUE(chat.continue_answer);
}

TEST(AnthropicMessage, DefaultsAreAnthropics) {
  const auto parsed = parse_anthropic_message(R"({"max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_FALSE(parsed->stream);
  EXPECT_FALSE(parsed->chat.continue_answer);
  EXPECT_TRUE(parsed->chat.add_generation_prompt);
  EXPECT_EQ(parsed->chat.generation.sampling.temperature, 1.0F);
  EXPECT_EQ(parsed->chat.template_kwargs_json, "");
  EXPECT_EQ(parsed->chat.messages.size(), 1U) << "no system message of our own";
}

std::string with(const std::string& fields) {
  return R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],)" + fields + "}";
}

TEST(AnthropicMessage, ErrorsOpenWithTheFieldAtFault) {
  const std::pair<std::string, std::string> fields[] = {
      {R"("model": 1)", "model"},
      {R"("max_tokens": 0)", "max_tokens"},
      {R"("max_tokens": null)", "max_tokens"},
      {R"("max_tokens": "9")", "max_tokens"},
      {R"("temperature": 3)", "temperature"},
      {R"("top_k": -2)", "top_k"},
      {R"("top_p": 2)", "top_p"},
      {R"("stop_sequences": [""])", "stop_sequences[0]"},
      {R"("stop_sequences": 1)", "stop_sequences"},
      {R"("stream": "yes")", "stream"},
      {R"("system": 1)", "system"},
      {R"("system": [{"type": "image"}])", "system[0].type"},
      {R"("thinking": true)", "thinking"},
      {R"("thinking": {"type": "deep"})", "thinking.type"},
      {R"("output_config": [])", "output_config"},
      {R"("output_config": {"effort": 1})", "output_config.effort"},
      {R"("output_config": {"format": {"type": "json_schema"}})", "output_config.format"},
      {R"("tools": {})", "tools"},
      {R"("tools": [1])", "tools[0]"},
      {R"("tools": [{"input_schema": {}}])", "tools[0].name"},
      {R"("tools": [{"name": "f"}])", "tools[0].input_schema"},
      {R"("tools": [{"name": "f", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}])",
       "tools[1].type"},
      {R"("tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "any"})", "tool_choice.type"},
      {R"("tool_choice": {"type": "tool", "name": "f"})", "tool_choice.type"},
      {R"("tool_choice": {"type": "maybe"})", "tool_choice.type"},
      {R"("tool_choice": {"type": "auto", "disable_parallel_tool_use": 1})", "tool_choice.disable_parallel_tool_use"},
      {R"("tool_choice": 1)", "tool_choice"},
      {R"("mcp_servers": [{}])", "mcp_servers"},
      {R"("chat_template_kwargs": {"messages": []})", "chat_template_kwargs.messages"},
      {R"("messages": [])", "messages"},
      {R"("messages": ["hi"])", "messages[0]"},
      {R"("messages": [{"role": "tool", "content": "x"}])", "messages[0].role"},
      {R"("messages": [{"role": "user"}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "content": 1}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "content": ["x"]}])", "messages[0].content[0]"},
      {R"("messages": [{"role": "user", "content": [{"text": "x"}]}])", "messages[0].content[0].type"},
      {R"("messages": [{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0].text"},
      {R"("messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}])",
       "messages[0].content[0].type"},
      {R"("messages": [{"role": "user", "content": [{"type": "document"}]}])", "messages[0].content[0].type"},
      {R"("messages": [{"role": "user", "content": [{"type": "thinking", "thinking": "x"}]}])",
       "messages[0].content[0].type"},
      {R"("messages": [{"role": "user", "content": [{"type": "tool_use", "name": "f"}]}])",
       "messages[0].content[0].type"},
      {R"("messages": [{"role": "user", "content": [{"type": "tool_result"}]}])", "messages[0].content[0].tool_use_id"},
      {R"("messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": 1}]}])",
       "messages[0].content[0].content"},
      {R"("messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image"}]}]}])",
       "messages[0].content[0].content[0].type"},
      {R"("messages": [{"role": "assistant", "content": [{"type": "thinking"}]}])", "messages[0].content[0].thinking"},
      {R"("messages": [{"role": "assistant", "content": [{"type": "tool_use"}]}])", "messages[0].content[0].name"},
      {R"("messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": 1}]}])",
       "messages[0].content[0].input"},
      {R"("messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "f", "id": 1}]}])",
       "messages[0].content[0].id"},
  };
  for (const auto& [field, path] : fields) {
    const auto parsed = parse_anthropic_message(with(field));
    ASSERT_FALSE(parsed.ok()) << field;
    EXPECT_EQ(http_status(parsed.error().code), 400) << field;
    EXPECT_TRUE(parsed.error().message.starts_with("'" + path + "' ")) << field << ": " << parsed.error().message;
  }
  EXPECT_FALSE(parse_anthropic_message(R"({"messages": [{"role": "user", "content": "x"}]})").ok()) << "no max_tokens";
}

TEST(AnthropicMessage, ImagesNameTheModelThatCannotSeeThem) {
  const auto parsed = parse_anthropic_message(
      R"({"messages": [{"role": "user", "content": [{"type": "image"}]}], "model": "tiny", "max_tokens": 1})");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message, "'messages[0].content[0].type' is 'image', but model 'tiny' reads text only");
}

TEST(AnthropicMessage, ToolsThatMayNotBeCalledAreLeftOut) {
  const auto parsed =
      parse_anthropic_message(with(R"("tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "none"})"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->chat.tools_json, "");
}

TEST(AnthropicMessage, ToolsReachTemplatesInTheFormTheyKnow) {
  const auto parsed = parse_anthropic_message(
      with(R"("tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": {}}],)"
           R"("tool_choice": {"type": "auto", "disable_parallel_tool_use": true})"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->chat.tools_json,
            R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}])");
  EXPECT_FALSE(parsed->chat.parallel_tool_calls);
}

TEST(AnthropicMessage, TheClientsOwnVariablesStay) {
  const auto parsed = parse_anthropic_message(
      with(R"("thinking": {"type": "disabled"}, "chat_template_kwargs": {"enable_thinking": true})"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->chat.template_kwargs_json, R"({"enable_thinking":false,"enable_thinking":true})")
      << "of two equal names the later one counts";
}

TEST(AnthropicCount, NeedsNoMaxTokens) {
  EXPECT_TRUE(parse_anthropic_count(R"({"messages": [{"role": "user", "content": "x"}]})").ok());
}

TEST(AnthropicMessage, HostileBodiesAreRefusedNotCrashedOn) {
  const std::string full(kFull);
  for (size_t cut = 0; cut < full.size(); ++cut) EXPECT_FALSE(parse_anthropic_message(full.substr(0, cut)).ok()) << cut;
  Rng rng(2);
  for (int round = 0; round < 5'000; ++round) {
    std::string body = full;
    for (uint32_t i = 0; i <= rng.below(3); ++i) {
      constexpr std::string_view kBytes = "{}[]\",:0-1e9.ntf\\u\x80 ";
      body[rng.below(static_cast<uint32_t>(body.size()))] = kBytes[rng.below(kBytes.size())];
    }
    const auto parsed = parse_anthropic_message(body);
    EXPECT_TRUE(parsed.ok() || http_status(parsed.error().code) == 400) << body;
  }
}

}  // namespace
}  // namespace brio::api
