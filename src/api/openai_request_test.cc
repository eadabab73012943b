#include "api/openai_request.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace brio::api {
namespace {

constexpr std::string_view kFullChat = R"({
  "model": "m", "stream": true, "stream_options": {"include_usage": true, "unknown": 1},
  "messages": [
    {"role": "developer", "content": "be brief"},
    {"role": "user", "name": "ann", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    {"role": "assistant", "content": null, "reasoning_content": "hm",
     "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "42"}
  ],
  "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "repetition_penalty": 1.1, "frequency_penalty": -1,
  "presence_penalty": 2.0, "logit_bias": {"17": -100, "3": 2.5}, "seed": -1, "n": 2, "max_tokens": 7,
  "max_completion_tokens": 9, "min_tokens": 3, "stop": ["x", "yy"], "stop_token_ids": [5, 6], "ignore_eos": true,
  "logprobs": true, "top_logprobs": 4, "tools": [{"type": "function", "function": {"name": "f"}}],
  "tool_choice": "auto", "chat_template_kwargs": {"enable_thinking": false}, "add_generation_prompt": false,
  "response_format": {"type": "text"}, "user": "u", "metadata": {"a": "b"}, "parallel_tool_calls": true, "future": [1]
})";

TEST(OpenAiChat, EveryFieldReachesTheNativeRequest) {
  const auto parsed = parse_openai_chat(kFullChat);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(parsed->stream);
  EXPECT_TRUE(parsed->include_usage);
  const auto& chat = std::get<ChatRequest>(parsed->request);
  const Generation& g = chat.generation;
  EXPECT_EQ(g.model, "m");
  EXPECT_FLOAT_EQ(g.sampling.temperature, 0.5F);
  EXPECT_FLOAT_EQ(g.sampling.top_p, 0.9F);
  EXPECT_EQ(g.sampling.top_k, 40);
  EXPECT_FLOAT_EQ(g.sampling.min_p, 0.1F);
  EXPECT_FLOAT_EQ(g.sampling.repetition_penalty, 1.1F);
  EXPECT_FLOAT_EQ(g.sampling.frequency_penalty, -1.0F);
  EXPECT_FLOAT_EQ(g.sampling.presence_penalty, 2.0F);
  const std::vector<std::pair<int32_t, float>> bias = {{17, -100.0F}, {3, 2.5F}};
  EXPECT_EQ(g.sampling.logit_bias, bias);
  EXPECT_EQ(g.sampling.seed, ~uint64_t{0});
  EXPECT_EQ(g.n, 2);
  EXPECT_EQ(g.max_tokens, 9) << "max_completion_tokens wins";
  EXPECT_EQ(g.min_tokens, 3);
  EXPECT_EQ(g.stop, (std::vector<std::string>{"x", "yy"}));
  EXPECT_EQ(g.stop_token_ids, (std::vector<int32_t>{5, 6}));
  EXPECT_TRUE(g.ignore_eos);
  EXPECT_EQ(g.top_logprobs, 4);
  ASSERT_EQ(chat.messages.size(), 4U);
  EXPECT_EQ(chat.messages[0].role, "system");
  EXPECT_EQ(chat.messages[1].content, "ab");
  EXPECT_EQ(chat.messages[1].name, "ann");
  EXPECT_FALSE(chat.messages[2].content.has_value());
  EXPECT_EQ(chat.messages[2].reasoning, "hm");
  ASSERT_EQ(chat.messages[2].tool_calls.size(), 1U);
  EXPECT_EQ(chat.messages[2].tool_calls[0].id, "c1");
  EXPECT_EQ(chat.messages[2].tool_calls[0].arguments_json, R"({"x": 1})");
  EXPECT_EQ(chat.messages[3].tool_call_id, "c1");
  EXPECT_EQ(chat.tools_json, R"([{"type":"function","function":{"name":"f"}}])");
  EXPECT_EQ(chat.template_kwargs_json, R"({"enable_thinking":false})");
  EXPECT_FALSE(chat.add_generation_prompt);
}

TEST(OpenAiChat, DefaultsAreOpenAis) {
  const auto parsed =
      parse_openai_chat(R"({"messages":[{"role":"user","content":"hi"}],"stop":null,"seed":null,"n":null})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_FALSE(parsed->stream);
  const Generation& g = generation(parsed->request);
  EXPECT_EQ(g.model, "");
  EXPECT_EQ(g.sampling.temperature, 1.0F);
  EXPECT_EQ(g.n, 1);
  EXPECT_FALSE(g.max_tokens.has_value());
  EXPECT_FALSE(g.sampling.seed.has_value());
  EXPECT_EQ(g.top_logprobs, -1);
  EXPECT_TRUE(std::get<ChatRequest>(parsed->request).add_generation_prompt);
}

TEST(OpenAiChat, AnAnswerThatHasBegunIsContinuedUnlessTheClientSaysOtherwise) {
  const auto read = [](const std::string& more, const std::string& last = R"({"role":"assistant","content":"It"})") {
    return parse_openai_chat(R"({"messages":[{"role":"user","content":"hi"},)" + last + "]" + more + "}");
  };
  const auto continues = [&](const std::string& more) {
    const auto parsed = read(more);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return std::get<ChatRequest>(parsed->request).continue_answer;
  };
  EXPECT_TRUE(continues(""));
  EXPECT_TRUE(continues(R"(,"add_generation_prompt":false,"continue_final_message":true)"));
  EXPECT_FALSE(continues(R"(,"continue_final_message":false)"));
  EXPECT_FALSE(continues(R"(,"add_generation_prompt":true)"));
  EXPECT_FALSE(continues(R"(,"add_generation_prompt":false)"));
  const auto question = read(R"(,"continue_final_message":true)", R"({"role":"user","content":"hi"})");
  ASSERT_FALSE(question.ok());
  EXPECT_TRUE(question.error().message.starts_with("'continue_final_message' "));
}

TEST(OpenAiChat, ReasoningEffortReachesTheTemplate) {
  const auto kwargs = [](const std::string& effort) {
    const auto parsed =
        parse_openai_chat(R"({"messages":[{"role":"user","content":"hi"}],"reasoning_effort":)" + effort + "}");
    EXPECT_TRUE(parsed.ok());
    return std::get<ChatRequest>(parsed->request).template_kwargs_json;
  };
  EXPECT_EQ(kwargs("\"high\""), R"({"reasoning_effort":"high"})");
  EXPECT_EQ(kwargs("\"none\""), R"({"enable_thinking":false})");
  EXPECT_EQ(kwargs("null"), "");
}

TEST(OpenAiChat, ImagesNameTheModelThatCannotSeeThem) {
  const auto parsed =
      parse_openai_chat(R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}],"model":"tiny"})");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message, "'messages[0].content[0].type' is 'image_url', but model 'tiny' reads text only");
}

std::string chat_with(const std::string& field) {
  return R"({"messages":[{"role":"user","content":"hi"}],)" + field + "}";
}

TEST(OpenAiChat, NumbersBeyondAnyRangeAreStillWhole) {
  const auto message = [](const std::string& field) {
    const auto parsed = parse_openai_chat(chat_with(field));
    return parsed.ok() ? "" : parsed.error().message;
  };
  const std::string range = "; it has to be between 1 and 1073741824";
  EXPECT_EQ(message(R"("max_tokens": 1e300)"), "'max_tokens' is 1e+300" + range);
  EXPECT_EQ(message(R"("max_tokens": 18446744073709551615)"), "'max_tokens' is 1.8446744073709552e+19" + range);
  EXPECT_EQ(message(R"("max_tokens": 1.5)"), "'max_tokens' has to be a whole number");
  EXPECT_EQ(message(R"("seed": 18446744073709551616)"), "'seed' has to be a whole number of at most 64 bits");
}

TEST(OpenAiChat, ErrorsOpenWithTheFieldAtFault) {
  const std::pair<std::string, std::string> fields[] = {
      // a field, and the path its error opens with
      {R"("model": 3)", "model"},
      {R"("temperature": -0.1)", "temperature"},
      {R"("temperature": 2.1)", "temperature"},
      {R"("temperature": "hot")", "temperature"},
      {R"("top_p": -0.1)", "top_p"},
      {R"("top_p": 1.01)", "top_p"},
      {R"("top_k": 1.5)", "top_k"},
      {R"("top_k": -2)", "top_k"},
      {R"("min_p": 2)", "min_p"},
      {R"("repetition_penalty": 0)", "repetition_penalty"},
      {R"("frequency_penalty": 3)", "frequency_penalty"},
      {R"("presence_penalty": -3)", "presence_penalty"},
      {R"("logit_bias": [])", "logit_bias"},
      {R"("logit_bias": {"x": 1})", "logit_bias"},
      {R"("logit_bias": {"-1": 1})", "logit_bias"},
      {R"("logit_bias": {"1": 101})", "logit_bias"},
      {R"("logit_bias": {"1": "1"})", "logit_bias"},
      {R"("seed": 1.5)", "seed"},
      {R"("seed": "1")", "seed"},
      {R"("n": 0)", "n"},
      {R"("n": 257)", "n"},
      {R"("n": 1e300)", "n"},
      {R"("max_tokens": 0)", "max_tokens"},
      {R"("max_tokens": -1)", "max_tokens"},
      {R"("max_completion_tokens": "many")", "max_completion_tokens"},
      {R"("max_tokens": 3, "min_tokens": 4)", "min_tokens"},
      {R"("stop": 1)", "stop"},
      {R"("stop": "")", "stop"},
      {R"("stop": ["a", ""])", "stop[1]"},
      {R"("stop": ["a", 2])", "stop[1]"},
      {R"("stop": ["1","2","3","4","5","6","7","8","9","a","b","c","d","e","f","g","h"])", "stop"},
      {R"("stop_token_ids": [1, -1])", "stop_token_ids[1]"},
      {R"("stop_token_ids": 1)", "stop_token_ids"},
      {R"("ignore_eos": 1)", "ignore_eos"},
      {R"("logprobs": 3)", "logprobs"},
      {R"("top_logprobs": 3)", "top_logprobs"},
      {R"("logprobs": true, "top_logprobs": 21)", "top_logprobs"},
      {R"("stream": "yes")", "stream"},
      {R"("stream_options": 1)", "stream_options"},
      {R"("stream_options": {"include_usage": 1})", "stream_options.include_usage"},
      {R"("tools": {})", "tools"},
      {R"("tools": [1])", "tools[0]"},
      {R"("tools": [{"function": {"name": "f"}}])", "tools[0].type"},
      {R"("tools": [{"type": "custom", "custom": {"name": "f"}}])", "tools[0].type"},
      {R"("tools": [{"type": "function"}])", "tools[0].function"},
      {R"("tools": [{"type": "function", "function": "f"}])", "tools[0].function"},
      {R"("tools": [{"type": "function", "function": {}}])", "tools[0].function.name"},
      {R"("tools": [{"type": "function", "function": {"name": "a b"}}])", "tools[0].function.name"},
      {R"("tools": [{"type": "function", "function": {"name": 7}}])", "tools[0].function.name"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "description": 1}}])",
       "tools[0].function.description"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "parameters": []}}])",
       "tools[0].function.parameters"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "strict": true}}])", "tools[0].function.strict"},
      {R"("tools": [{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}])",
       "tools[1].function.name"},
      {R"("parallel_tool_calls": 1)", "parallel_tool_calls"},
      {R"("tool_choice": "required")", "tool_choice"},
      {R"("tool_choice": "any")", "tool_choice"},
      {R"("tool_choice": 1)", "tool_choice"},
      {R"("tool_choice": {"type": "function"})", "tool_choice.function.name"},
      {R"("tool_choice": {"type": "allowed_tools"})", "tool_choice.type"},
      {R"("tool_choice": {"type": "function", "function": {"name": "g"}})", "tool_choice.function.name"},
      {R"("tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required")", "tool_choice"},
      {R"("tools": [{"type": "function", "function": {"name": "f"}}],
          "tool_choice": {"type": "function", "function": {"name": "f"}})",
       "tool_choice"},
      {R"("functions": [{}])", "functions"},
      {R"("response_format": {"type": "xml"})", "response_format.type"},
      {R"("response_format": {"type": "json_object"}, "tools": [{"type": "function", "function": {"name": "f"}}])",
       "response_format"},
      {R"("response_format": {"type": "json_schema"})", "response_format.json_schema"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"name": "n"}})",
       "response_format.json_schema.schema"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"schema": 1}})",
       "response_format.json_schema.schema"},
      {R"("guided_regex": 1)", "guided_regex"},
      {R"("guided_choice": ["a", 1])", "guided_choice"},
      {R"("grammar": {})", "grammar"},
      {R"("guided_regex": "a", "grammar": "b")", "grammar"},
      {R"("guided_regex": "a", "response_format": {"type": "json_object"})", "guided_regex"},
      {R"("structured_outputs": {"regex": 1})", "structured_outputs.regex"},
      {R"("structured_outputs": {"colour": 1})", "structured_outputs.colour"},
      {R"("response_format": "json")", "response_format"},
      {R"("chat_template_kwargs": [])", "chat_template_kwargs"},
      {R"("chat_template_kwargs": {"bos_token": "x"})", "chat_template_kwargs.bos_token"},
      {R"("messages": [])", "messages"},
      {R"("messages": null)", "messages"},
      {R"("messages": "hi")", "messages"},
      {R"("messages": ["hi"])", "messages[0]"},
      {R"("messages": [{"content": "hi"}])", "messages[0].role"},
      {R"("messages": [{"role": "robot", "content": "hi"}])", "messages[0].role"},
      {R"("messages": [{"role": "user"}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "content": null}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "content": 7}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "content": ["x"]}])", "messages[0].content[0]"},
      {R"("messages": [{"role": "user", "content": [{"text": "x"}]}])", "messages[0].content[0].type"},
      {R"("messages": [{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0].text"},
      {R"("messages": [{"role": "user", "content": [{"type": "image_url"}]}])", "messages[0].content[0].type"},
      {R"("messages": [{"role": "assistant", "tool_calls": 1}])", "messages[0].tool_calls"},
      {R"("messages": [{"role": "assistant", "tool_calls": [1]}])", "messages[0].tool_calls[0]"},
      {R"("messages": [{"role": "assistant", "tool_calls": [{}]}])", "messages[0].tool_calls[0].function"},
      {R"("messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}])",
       "messages[0].tool_calls[0].function.name"},
  };
  for (const auto& [field, path] : fields) {
    const auto parsed = parse_openai_chat(chat_with(field));
    ASSERT_FALSE(parsed.ok()) << field;
    EXPECT_EQ(http_status(parsed.error().code), 400) << field;
    EXPECT_EQ(parsed.error().message.substr(0, path.size() + 2), "'" + path + "'")
        << field << ": " << parsed.error().message;
  }
}

TEST(OpenAiChat, ToolChoiceNoneLeavesTheToolsOut) {
  const auto parsed = parse_openai_chat(
      chat_with(R"("tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "none")"));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(std::get<ChatRequest>(parsed->request).tools_json, "");
}

TEST(OpenAiChat, BodiesThatAreNotJsonSayWhere) {
  const auto broken = parse_openai_chat(R"({"messages": [,]})");
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("at byte 14"), std::string::npos) << broken.error().message;
  for (const std::string body : {"", "[]", "3", "null", "{} {}", "{\"a\":\"\xff\"}", "{\"a\": NaN}"}) {
    const auto parsed = parse_openai_chat(body);
    ASSERT_FALSE(parsed.ok()) << body;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(parse_openai_chat(chat_with(R"("x": )" + std::string(100'000, '['))).ok()) << "depth is bounded";
}

// Cut anywhere, or with any byte changed, a body is read or refused: under sanitizers this is the proof.
TEST(OpenAiChat, NumbersThatNoDoubleHoldsAreRefused) {
  const auto parsed = parse_openai_chat(
      R"({"messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"maximum": [1e999]}}}]})");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message, "the request body holds a number that no double can hold");
  EXPECT_FALSE(parse_openai_chat(chat_with(R"("metadata": [0e999])")).ok());
}

TEST(OpenAiChat, HostileBodiesAreRefusedNotCrashedOn) {
  const std::string full(kFullChat);
  for (size_t cut = 0; cut < full.size(); ++cut) EXPECT_FALSE(parse_openai_chat(full.substr(0, cut)).ok()) << cut;
  Rng rng(1);
  for (int round = 0; round < 5'000; ++round) {
    std::string body = full;
    for (uint32_t i = 0; i <= rng.below(3); ++i) {
      constexpr std::string_view kBytes = "{}[]\",:0-1e9.ntf\\u\x80 ";
      body[rng.below(static_cast<uint32_t>(body.size()))] = kBytes[rng.below(kBytes.size())];
    }
    const auto parsed = parse_openai_chat(body);
    EXPECT_TRUE(parsed.ok() || http_status(parsed.error().code) == 400) << body;
    (void)parse_openai_completion(body);
  }
}

TEST(OpenAiCompletion, PromptsHaveFourForms) {
  const auto prompts = [](const std::string& prompt) {
    const auto parsed = parse_openai_completion(R"({"prompt": )" + prompt + "}");
    EXPECT_TRUE(parsed.ok()) << prompt << ": " << (parsed.ok() ? "" : parsed.error().message);
    return parsed.ok() ? std::get<CompletionRequest>(parsed->request).prompts : std::vector<Prompt>{};
  };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(prompts(R"("one")"), (std::vector<Prompt>{"one"}));
  EXPECT_EQ(prompts(R"(["one", "two"])"), (std::vector<Prompt>{"one", "two"}));
  EXPECT_EQ(prompts("[1, 2, 3]"), (std::vector<Prompt>{Ids{1, 2, 3}}));
  EXPECT_EQ(prompts("[[1, 2], [3]]"), (std::vector<Prompt>{Ids{1, 2}, Ids{3}}));
}

TEST(OpenAiCompletion, ChoicesCountOverAllPrompts) {
  const auto parsed =
      parse_openai_completion(R"({"prompt": ["a", "b"], "n": 3, "echo": true, "logprobs": 2, "max_tokens": 0})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(num_choices(parsed->request), 6);
  EXPECT_TRUE(std::get<CompletionRequest>(parsed->request).echo);
  EXPECT_EQ(generation(parsed->request).top_logprobs, 2);
  EXPECT_EQ(generation(parsed->request).max_tokens, 0);
}

TEST(OpenAiCompletion, ErrorsOpenWithTheFieldAtFault) {
  const std::pair<std::string, std::string> bodies[] = {
      {R"({})", "prompt"},
      {R"({"prompt": null})", "prompt"},
      {R"({"prompt": []})", "prompt"},
      {R"({"prompt": {}})", "prompt"},
      {R"({"prompt": [1, "a"]})", "prompt[1]"},
      {R"({"prompt": [1, -4]})", "prompt[1]"},
      {R"({"prompt": ["a", 1]})", "prompt[1]"},
      {R"({"prompt": [[1, 2.5]]})", "prompt[0][1]"},
      {R"({"prompt": "a", "logprobs": 21})", "logprobs"},
      {R"({"prompt": "a", "logprobs": true})", "logprobs"},
      {R"({"prompt": "a", "echo": 1})", "echo"},
      {R"({"prompt": "a", "suffix": "b"})", "suffix"},
      {R"({"prompt": "a", "n": 1, "best_of": 2})", "best_of"},
      {R"({"prompt": ["a", "b"], "n": 200})", "n"},
  };
  for (const auto& [body, path] : bodies) {
    const auto parsed = parse_openai_completion(body);
    ASSERT_FALSE(parsed.ok()) << body;
    EXPECT_EQ(http_status(parsed.error().code), 400) << body;
    EXPECT_EQ(parsed.error().message.substr(0, path.size() + 2), "'" + path + "'") << parsed.error().message;
  }
}

TEST(OpenAiRequest, ReadsWhatTheOutputHasToLookLike) {
  using Kind = OutputFormat::Kind;
  const auto format = [](const std::string& fields) {
    const auto parsed = parse_openai_completion(R"({"prompt": "p", )" + fields + "}");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return parsed.ok() ? generation(parsed->request).format : std::nullopt;
  };
  EXPECT_FALSE(format(R"("response_format": {"type": "text"})").has_value());
  EXPECT_EQ(format(R"("response_format": {"type": "json_object"})")->kind, Kind::kJsonObject);
  const auto schema = format(R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true,
    "schema": {"type": "object", "properties": {"b": {}, "a": {}}}}})");
  EXPECT_EQ(schema->kind, Kind::kJsonSchema);
  EXPECT_EQ(schema->text, R"({"type":"object","properties":{"b":{},"a":{}}})");  // in its own order
  EXPECT_EQ(schema->field, "response_format.json_schema.schema");
  EXPECT_EQ(format(R"("guided_json": {"type": "null"})")->text, R"({"type":"null"})");
  EXPECT_EQ(format(R"("guided_json": "true")")->text, "true");
  EXPECT_EQ(format(R"("guided_regex": "a+")")->kind, Kind::kRegex);
  EXPECT_EQ(format(R"("guided_choice": ["a", "b"])")->choices, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(format(R"("grammar": "root ::= \"x\"")")->text, "root ::= \"x\"");
  EXPECT_EQ(format(R"("guided_grammar": "g")")->kind, Kind::kGrammar);
  EXPECT_EQ(format(R"("structured_outputs": {"regex": "a", "json": null})")->field, "structured_outputs.regex");
  EXPECT_EQ(format(R"("structured_outputs": {"json_object": true})")->kind, Kind::kJsonObject);
}

}  // namespace
}  // namespace brio::api
