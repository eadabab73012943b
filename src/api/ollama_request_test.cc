#include "api/ollama_request.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace brio::api {
namespace {

constexpr std::string_view kFullChat = R"({
  "model": "m:latest", "stream": false, "keep_alive": "5m", "format": "", "think": true, "logprobs": true,
  "top_logprobs": 2, "tools": [],
  "messages": [
    {"role": "system", "content": "be brief"}, {"role": "user", "content": "hi", "images": []},
    {"role": "assistant", "content": "", "thinking": "hm",
     "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
    {"role": "tool", "tool_name": "f", "content": "42"}
  ],
  "options": {"temperature": 0.5, "top_k": 7, "top_p": 0.6, "min_p": 0.1, "repeat_penalty": 1.2,
              "frequency_penalty": 0.3, "presence_penalty": -0.4, "seed": 9, "num_predict": 12, "num_ctx": 2048,
              "stop": ["x", "y"], "num_gpu": 1, "mirostat": 0, "typical_p": 1.0, "tfs_z": 1.0, "future": true}
})";

TEST(OllamaChat, EveryFieldReachesTheNativeRequest) {
  const auto parsed = parse_ollama_chat(kFullChat);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_FALSE(parsed->stream);
  EXPECT_FALSE(parsed->empty);
  const auto& chat = std::get<ChatRequest>(parsed->request);
  const Generation& g = chat.generation;
  EXPECT_EQ(g.model, "m") << "latest is the tag that is left out";
  EXPECT_FLOAT_EQ(g.sampling.temperature, 0.5F);
  EXPECT_EQ(g.sampling.top_k, 7);
  EXPECT_FLOAT_EQ(g.sampling.top_p, 0.6F);
  EXPECT_FLOAT_EQ(g.sampling.min_p, 0.1F);
  EXPECT_FLOAT_EQ(g.sampling.repetition_penalty, 1.2F);
  EXPECT_FLOAT_EQ(g.sampling.frequency_penalty, 0.3F);
  EXPECT_FLOAT_EQ(g.sampling.presence_penalty, -0.4F);
  EXPECT_EQ(g.sampling.seed, 9U);
  EXPECT_EQ(g.max_tokens, 12);
  EXPECT_TRUE(g.cut_to_context);
  EXPECT_EQ(g.stop, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(g.top_logprobs, 2);
  EXPECT_EQ(chat.template_kwargs_json, R"({"enable_thinking":true})");
  ASSERT_EQ(chat.messages.size(), 4U);
  EXPECT_EQ(chat.messages[2].reasoning, "hm");
  EXPECT_EQ(chat.messages[2].tool_calls.at(0).arguments_json, R"({"x":1})");
  EXPECT_EQ(chat.messages[3].name, "f");
  EXPECT_FALSE(chat.continue_answer);
}

TEST(OllamaChat, ToolsAreOpenAis) {
  const auto parsed = parse_ollama_chat(
      R"({"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(std::get<ChatRequest>(parsed->request).tools_json, R"([{"type":"function","function":{"name":"f"}}])");
}

TEST(OllamaChat, DefaultsAreOllamas) {
  const auto parsed = parse_ollama_chat(R"({"model":"m","messages":[{"role":"user","content":"hi"}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(parsed->stream);
  const Generation& g = generation(parsed->request);
  EXPECT_FLOAT_EQ(g.sampling.temperature, 0.8F);
  EXPECT_EQ(g.sampling.top_k, 40);
  EXPECT_FLOAT_EQ(g.sampling.top_p, 0.9F);
  EXPECT_EQ(g.sampling.repetition_penalty, 1.0F);
  EXPECT_FALSE(g.max_tokens.has_value());
  EXPECT_FALSE(g.sampling.seed.has_value());
}

TEST(OllamaChat, NumbersBelowZeroMeanNone) {
  const auto parsed = parse_ollama_chat(
      R"({"messages":[{"role":"assistant","content":"go"}],"options":{"num_predict":-1,"seed":-1,"top_k":-1},"think":"low"})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto& chat = std::get<ChatRequest>(parsed->request);
  EXPECT_FALSE(chat.generation.max_tokens.has_value());
  EXPECT_FALSE(chat.generation.sampling.seed.has_value());
  EXPECT_EQ(chat.generation.sampling.top_k, 0);
  EXPECT_TRUE(chat.continue_answer);
  EXPECT_EQ(chat.template_kwargs_json, R"({"reasoning_effort":"low"})");
}

TEST(OllamaChat, NothingToAnswerMeansLoad) {
  EXPECT_TRUE(parse_ollama_chat(R"({"model":"m"})")->empty);
  EXPECT_TRUE(parse_ollama_chat(R"({"model":"m","messages":[]})")->empty);
  EXPECT_TRUE(parse_ollama_generate(R"({"model":"m"})")->empty);
  EXPECT_TRUE(parse_ollama_generate(R"({"model":"m","prompt":"","keep_alive":0})")->empty);
}

TEST(OllamaGenerate, IsAConversationOfOneTurn) {
  const auto parsed = parse_ollama_generate(R"({"model":"m","prompt":"hi","system":"be kind","think":false})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto& chat = std::get<ChatRequest>(parsed->request);
  ASSERT_EQ(chat.messages.size(), 2U);
  EXPECT_EQ(chat.messages[0].role, "system");
  EXPECT_EQ(chat.messages[1].content, "hi");
  EXPECT_EQ(chat.template_kwargs_json, R"({"enable_thinking":false})");
  const CompletionRequest text = as_completion(chat);
  EXPECT_EQ(std::get<std::string>(text.prompts.at(0)), "be kind\n\nhi");
  EXPECT_EQ(text.generation.model, "m");
}

TEST(OllamaGenerate, RawIsACompletion) {
  const auto parsed = parse_ollama_generate(
      R"({"model":"m","prompt":"hi","raw":true,"system":"x","options":{"num_predict":3},"context":[]})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto& completion = std::get<CompletionRequest>(parsed->request);
  EXPECT_EQ(std::get<std::string>(completion.prompts.at(0)), "hi");
  EXPECT_EQ(completion.generation.max_tokens, 3);
}

using Parse = Result<OllamaRequest> (*)(std::string_view);

void expect_refused(Parse parse, const std::string& body, const std::string& path) {
  const auto parsed = parse(body);
  ASSERT_FALSE(parsed.ok()) << body;
  EXPECT_EQ(http_status(parsed.error().code), 400) << body;
  EXPECT_TRUE(parsed.error().message.starts_with("'" + path + "' ")) << body << ": " << parsed.error().message;
}

TEST(OllamaChat, ErrorsOpenWithTheFieldAtFault) {
  const std::pair<std::string, std::string> fields[] = {
      {R"("model": 1)", "model"},
      {R"("stream": "no")", "stream"},
      {R"("options": [])", "options"},
      {R"("options": {"temperature": "hot"})", "options.temperature"},
      {R"("options": {"top_k": 1.5})", "options.top_k"},
      {R"("options": {"top_p": 2})", "options.top_p"},
      {R"("options": {"min_p": 2})", "options.min_p"},
      {R"("options": {"repeat_penalty": 0})", "options.repeat_penalty"},
      {R"("options": {"seed": "x"})", "options.seed"},
      {R"("options": {"num_predict": -3})", "options.num_predict"},
      {R"("options": {"num_ctx": 0})", "options.num_ctx"},
      {R"("options": {"stop": [""]})", "options.stop[0]"},
      {R"("options": {"mirostat": 1})", "options.mirostat"},
      {R"("options": {"typical_p": 0.5})", "options.typical_p"},
      {R"("options": {"tfs_z": 0.5})", "options.tfs_z"},
      {R"("think": 1)", "think"},
      {R"("format": "json")", "format"},
      {R"("format": {"type": "object"})", "format"},
      {R"("keep_alive": [])", "keep_alive"},
      {R"("top_logprobs": 2)", "top_logprobs"},
      {R"("tools": {})", "tools"},
      {R"("tools": [{"type": "function"}])", "tools[0].function"},
      {R"("messages": "hi")", "messages"},
      {R"("messages": ["hi"])", "messages[0]"},
      {R"("messages": [{"role": "robot"}])", "messages[0].role"},
      {R"("messages": [{"role": "user", "content": ["x"]}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "images": ["aGk="]}])", "messages[0].images"},
      {R"("messages": [{"role": "user", "images": 1}])", "messages[0].images"},
      {R"("messages": [{"role": "assistant", "tool_calls": 1}])", "messages[0].tool_calls"},
      {R"("messages": [{"role": "assistant", "tool_calls": [1]}])", "messages[0].tool_calls[0].function"},
      {R"("messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}])",
       "messages[0].tool_calls[0].function.name"},
      {R"("messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}])",
       "messages[0].tool_calls[0].function.arguments"},
  };
  for (const auto& [field, path] : fields) {
    expect_refused(parse_ollama_chat, R"({"messages":[{"role":"user","content":"hi"}],)" + field + "}", path);
  }
}

TEST(OllamaGenerate, ErrorsOpenWithTheFieldAtFault) {
  const std::pair<std::string, std::string> fields[] = {
      {R"("prompt": 1)", "prompt"},        {R"("system": 1)", "system"},       {R"("raw": 1)", "raw"},
      {R"("suffix": "x")", "suffix"},      {R"("template": "x")", "template"}, {R"("context": [1])", "context"},
      {R"("images": ["aGk="])", "images"}, {R"("format": "json")", "format"}};
  for (const auto& [field, path] : fields)
    expect_refused(parse_ollama_generate, R"({"model":"m",)" + field + "}", path);
}

TEST(OllamaModel, HasTwoSpellings) {
  EXPECT_EQ(*parse_ollama_model(R"({"model":"a:latest"})"), "a");
  EXPECT_EQ(*parse_ollama_model(R"({"name":"a:7b"})"), "a:7b");
  EXPECT_EQ(parse_ollama_model("{}").error().message, "'model' is missing");
}

TEST(OllamaChat, HostileBodiesAreRefusedNotCrashedOn) {
  const std::string full(kFullChat);
  for (size_t cut = 0; cut < full.size(); ++cut) EXPECT_FALSE(parse_ollama_chat(full.substr(0, cut)).ok()) << cut;
  Rng rng(3);
  for (int round = 0; round < 5'000; ++round) {
    std::string body = full;
    for (uint32_t i = 0; i <= rng.below(3); ++i) {
      constexpr std::string_view kBytes = "{}[]\",:0-1e9.ntf\\u\x80 ";
      body[rng.below(static_cast<uint32_t>(body.size()))] = kBytes[rng.below(kBytes.size())];
    }
    const auto parsed = parse_ollama_chat(body);
    EXPECT_TRUE(parsed.ok() || http_status(parsed.error().code) == 400) << body;
    (void)parse_ollama_generate(body);
    (void)parse_ollama_model(body);
  }
}

}  // namespace
}  // namespace brio::api
