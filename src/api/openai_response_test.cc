#include "api/openai_response.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <limits>

#include "api/json_text.h"
#include "base/rng.h"

namespace brio::api {
namespace {

namespace json = boost::json;

OpenAiShape shape(OpenAiKind kind, int num_choices = 1) {
  OpenAiShape out;
  out.kind = kind;
  out.id = "id-1";
  out.created = 1'700'000'000;
  out.model = "m \"quoted\"";
  out.fingerprint = "fp";
  out.num_choices = num_choices;
  return out;
}

PositionLogprobs position(int32_t id, std::string bytes, float logprob) {
  PositionLogprobs out;
  out.chosen = {id, std::move(bytes), logprob};
  out.top = {{id + 1, "best", -0.25F}, out.chosen};
  return out;
}

// Two choices that interleave, with logprobs, a character split over tokens and a matched stop string.
std::vector<Event> events() {
  return {Started{5, 0},
          Delta{0, "Hel", {position(1, "Hel", -0.5F)}},
          Delta{1, "\xE2\x82\xAC", {position(3, "\xE2\x82", -1.0F), position(4, "\xAC", -2.0F)}},
          Delta{0, "lo \"x\"\n", {position(2, "lo \"x\"\n", -0.125F)}},
          Finish{1, FinishReason::kStop, "END"},
          Finish{0, FinishReason::kLength, ""},
          Done{{5, 0, 4}, {1.0, 2.0, 3.0, 4.0}}};
}

std::vector<std::string> stream(const OpenAiShape& shape, const std::vector<Event>& all) {
  OpenAiStream stream(shape);
  std::vector<std::string> out;
  for (const Event& event : all) stream.write(event, out);
  return out;
}

json::object fold(const OpenAiShape& shape, const std::vector<Event>& all) {
  OpenAiFold fold(shape);
  for (const Event& event : all) fold.add(event);
  return json::parse(fold.json()).as_object();
}

// What a client library does with chunks: text, logprobs and reasons by choice.
struct Joined {
  std::string text;
  json::array logprobs;
  std::string finish_reason;
  std::string stop_reason;
  int finishes = 0;
  int roles = 0;
};

std::vector<Joined> join(const std::vector<std::string>& payloads, OpenAiKind kind, int num_choices) {
  std::vector<Joined> out(static_cast<size_t>(num_choices));
  for (const std::string& payload : payloads) {
    if (payload == "[DONE]") continue;
    const json::object chunk = json::parse(payload).as_object();
    EXPECT_EQ(chunk.at("object").as_string(), kind == OpenAiKind::kChat ? "chat.completion.chunk" : "text_completion");
    EXPECT_EQ(chunk.at("model").as_string(), "m \"quoted\"");
    for (const json::value& item : chunk.at("choices").as_array()) {
      const json::object& choice = item.as_object();
      Joined& joined = out.at(static_cast<size_t>(choice.at("index").as_int64()));
      const json::object& holder = kind == OpenAiKind::kChat ? choice.at("delta").as_object() : choice;
      if (const auto* text = holder.if_contains(kind == OpenAiKind::kChat ? "content" : "text")) {
        joined.text += std::string(text->as_string());
      }
      joined.roles += holder.contains("role") ? 1 : 0;
      if (choice.at("logprobs").is_object()) {
        const char* list = kind == OpenAiKind::kChat ? "content" : "tokens";
        for (const auto& entry : choice.at("logprobs").as_object().at(list).as_array())
          joined.logprobs.push_back(entry);
      }
      if (choice.at("finish_reason").is_string()) {
        joined.finish_reason = std::string(choice.at("finish_reason").as_string());
        if (choice.at("stop_reason").is_string())
          joined.stop_reason = std::string(choice.at("stop_reason").as_string());
        ++joined.finishes;
      }
    }
  }
  return out;
}

TEST(OpenAiResponse, AStreamJoinedEqualsTheWholeAnswer) {
  for (const OpenAiKind kind : {OpenAiKind::kChat, OpenAiKind::kCompletion}) {
    OpenAiShape with = shape(kind, 2);
    with.logprobs = true;
    const auto payloads = stream(with, events());
    const auto joined = join(payloads, kind, 2);
    const json::object whole = fold(with, events());
    for (size_t i = 0; i < 2; ++i) {
      const json::object& choice = whole.at("choices").as_array()[i].as_object();
      const auto& text = kind == OpenAiKind::kChat ? choice.at("message").at("content") : choice.at("text");
      EXPECT_EQ(joined[i].text, text.as_string());
      EXPECT_EQ(joined[i].finish_reason, choice.at("finish_reason").as_string());
      EXPECT_EQ(joined[i].finishes, 1) << "one finish chunk per choice";
      EXPECT_EQ(joined[i].roles, kind == OpenAiKind::kChat ? 1 : 0);
      const char* list = kind == OpenAiKind::kChat ? "content" : "tokens";
      EXPECT_EQ(joined[i].logprobs, choice.at("logprobs").at(list).as_array());
    }
    EXPECT_EQ(joined[0].text, "Hello \"x\"\n");
    EXPECT_EQ(joined[0].finish_reason, "length");
    EXPECT_EQ(joined[1].finish_reason, "stop");
    EXPECT_EQ(joined[1].stop_reason, "END");
    EXPECT_EQ(payloads.back(), "[DONE]");
  }
}

TEST(OpenAiResponse, UsageComesInALastChunkWithoutChoices) {
  OpenAiShape with = shape(OpenAiKind::kChat, 2);
  with.include_usage = true;
  const auto payloads = stream(with, events());
  for (size_t i = 0; i + 2 < payloads.size(); ++i) {
    EXPECT_TRUE(json::parse(payloads[i]).at("usage").is_null()) << payloads[i];
  }
  const json::value last = json::parse(payloads[payloads.size() - 2]);
  EXPECT_TRUE(last.at("choices").as_array().empty());
  EXPECT_EQ(last.at("usage").at("prompt_tokens").as_int64(), 5);
  EXPECT_EQ(last.at("usage").at("completion_tokens").as_int64(), 4);
  EXPECT_EQ(last.at("usage").at("total_tokens").as_int64(), 9);
  EXPECT_EQ(last.at("usage").at("prompt_tokens_details").at("cached_tokens").as_int64(), 0);
  EXPECT_EQ(last.at("timings").at("tpot_ms").as_double(), 3.0);
  EXPECT_EQ(last.at("usage"), fold(with, events()).at("usage"));
}

TEST(OpenAiResponse, WithoutUsageTheLastFinishCarriesTheTimings) {
  const auto payloads = stream(shape(OpenAiKind::kChat, 2), events());
  const json::object last = json::parse(payloads[payloads.size() - 2]).as_object();
  EXPECT_EQ(last.at("choices").as_array().size(), 1U);
  EXPECT_TRUE(last.contains("timings"));
  EXPECT_FALSE(last.contains("usage"));
  for (size_t i = 0; i + 2 < payloads.size(); ++i)
    EXPECT_FALSE(json::parse(payloads[i]).as_object().contains("timings"));
}

TEST(OpenAiResponse, EmptyDeltasAreNotSent) {
  const auto payloads = stream(shape(OpenAiKind::kChat), {Started{}, Delta{0, "", {}}, Finish{}, Done{}});
  EXPECT_EQ(payloads.size(), 3U) << "role, finish, [DONE]";
}

TEST(OpenAiResponse, AnErrorMidStreamEndsItWithoutDone) {
  const auto payloads = stream(shape(OpenAiKind::kChat), {Started{}, Delta{0, "a", {}}, Finish{},
                                                          Failed{error(ErrorCode::kNumeric, "logits are not finite")}});
  EXPECT_EQ(json::parse(payloads.back()).at("error").at("code").as_string(), "numeric");
  EXPECT_EQ(json::parse(payloads.back()).at("error").at("type").as_string(), "server_error");
  EXPECT_EQ(payloads.size(), 4U) << "role, delta, finish, error";
}

Delta call_delta(int index, std::string id, std::string name, std::string arguments) {
  return Delta{0, "", {}, "", ToolCallDelta{index, std::move(id), std::move(name), std::move(arguments)}};
}

// Reasoning, text, then two calls, as a model with tools answers.
std::vector<Event> tool_events() {
  return {Started{5, 0},
          Delta{0, "", {}, "I need "},
          Delta{0, "", {}, "the weather."},
          Delta{0, "Let me \"look\".", {}},
          call_delta(0, "call_1", "weather", ""),
          call_delta(0, "", "", "{\"city\": "),
          call_delta(0, "", "", "\"K\xC3\xB6ln\"}"),
          call_delta(1, "call_2", "time", "{}"),
          Finish{0, FinishReason::kToolCalls, ""},
          Done{{5, 0, 9, 4}, {}}};
}

TEST(OpenAiResponse, ToolCallsStreamWithIdAndNameOnce) {
  const auto payloads = stream(shape(OpenAiKind::kChat), tool_events());
  std::vector<json::value> deltas;
  for (size_t i = 0; i + 1 < payloads.size(); ++i) {
    deltas.push_back(json::parse(payloads[i]).at("choices").as_array()[0].at("delta"));
  }
  ASSERT_EQ(deltas.size(), 9U);
  EXPECT_EQ(deltas[1], json::parse(R"({"reasoning_content": "I need "})"));
  EXPECT_EQ(deltas[3], json::parse(R"({"content": "Let me \"look\"."})"));
  EXPECT_EQ(deltas[4], json::parse(R"({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                                       "function": {"name": "weather", "arguments": ""}}]})"));
  EXPECT_EQ(deltas[5], json::parse(R"({"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\": "}}]})"));
  EXPECT_EQ(deltas[7], json::parse(R"({"tool_calls": [{"index": 1, "id": "call_2", "type": "function",
                                       "function": {"name": "time", "arguments": "{}"}}]})"));
  EXPECT_EQ(json::parse(payloads[9 - 1]).at("choices").as_array()[0].at("finish_reason").as_string(), "tool_calls");
}

TEST(OpenAiResponse, AWholeAnswerHasReasoningAndCalls) {
  const json::object whole = fold(shape(OpenAiKind::kChat), tool_events());
  EXPECT_EQ(whole.at("choices").as_array()[0].at("message"), json::parse(R"({
      "role": "assistant", "content": "Let me \"look\".", "refusal": null, "reasoning_content": "I need the weather.",
      "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"K\u00f6ln\"}"}},
        {"id": "call_2", "type": "function", "function": {"name": "time", "arguments": "{}"}}]})"));
  EXPECT_EQ(whole.at("choices").as_array()[0].at("finish_reason").as_string(), "tool_calls");
  EXPECT_EQ(whole.at("usage").at("completion_tokens_details").at("reasoning_tokens").as_int64(), 4);
}

TEST(OpenAiResponse, CallsAloneHaveNullContent) {
  const json::object whole =
      fold(shape(OpenAiKind::kChat), {Started{}, call_delta(0, "call_1", "time", "{}"), Finish{}, Done{}});
  EXPECT_TRUE(whole.at("choices").as_array()[0].at("message").at("content").is_null());
}

TEST(OpenAiResponse, ChatLogprobsHaveBytes) {
  OpenAiShape with = shape(OpenAiKind::kChat, 2);
  with.logprobs = true;
  const json::object whole = fold(with, events());
  const json::object& token = whole.at("choices").as_array()[1].at("logprobs").at("content").as_array()[0].as_object();
  EXPECT_EQ(token.at("token").as_string(), "\xEF\xBF\xBD") << "part of a character";
  EXPECT_EQ(token.at("bytes"), json::array({0xE2, 0x82}));
  EXPECT_EQ(token.at("logprob").to_number<double>(), -1.0);
  EXPECT_EQ(token.at("top_logprobs").as_array().size(), 2U);
  EXPECT_EQ(token.at("top_logprobs").as_array()[0].at("token").as_string(), "best");
}

TEST(OpenAiResponse, CompletionLogprobsHaveOffsets) {
  OpenAiShape with = shape(OpenAiKind::kCompletion);
  with.logprobs = true;
  PositionLogprobs first = position(9, "\xC3\xA4", 0.0F);
  first.known = false;
  const std::vector<Event> all = {
      Started{}, Delta{0, "\xC3\xA4", {first}},
      Delta{0, "bcd", {position(1, "b", -1.0F), position(2, "cd", -std::numeric_limits<float>::infinity())}}, Finish{},
      Done{}};
  const json::object logprobs = fold(with, all).at("choices").as_array()[0].at("logprobs").as_object();
  EXPECT_EQ(logprobs.at("tokens"), json::array({"\xC3\xA4", "b", "cd"}));
  EXPECT_EQ(logprobs.at("text_offset"), json::array({0, 1, 2}));
  EXPECT_TRUE(logprobs.at("token_logprobs").as_array()[0].is_null());
  EXPECT_TRUE(logprobs.at("top_logprobs").as_array()[0].is_null());
  EXPECT_EQ(logprobs.at("token_logprobs").as_array()[2].to_number<double>(), -9999.0);
  EXPECT_EQ(logprobs.at("top_logprobs").as_array()[1].at("best").as_double(), -0.25);
  const json::object streamed = json::parse(stream(with, all)[1]).as_object();
  EXPECT_EQ(streamed.at("choices").as_array()[0].at("logprobs").at("text_offset"), json::array({1, 2}));
}

TEST(OpenAiResponse, ErrorsNameTypeCodeAndParam) {
  struct Case {
    Error error;
    const char* type;
    const char* code;
    const char* param;
  };
  const Case cases[] = {
      {error(ErrorCode::kInvalidArgument, "'top_p' is 3"), "invalid_request_error", "invalid_argument", "top_p"},
      {error(ErrorCode::kContextLengthExceeded, "too long"), "invalid_request_error", "context_length_exceeded",
       nullptr},
      {error(ErrorCode::kNotFound, "'model' is 'x'"), "invalid_request_error", "model_not_found", "model"},
      {error(ErrorCode::kOverloaded, "queue full"), "rate_limit_error", "overloaded", nullptr},
      {error(ErrorCode::kUnavailable, "loading"), "service_unavailable_error", "unavailable", nullptr},
      {error(ErrorCode::kInternal, "'x' broke"), "server_error", "internal", nullptr},
  };
  for (const Case& one : cases) {
    const json::object body = json::parse(openai_error(one.error)).at("error").as_object();
    EXPECT_EQ(body.at("message").as_string(), one.error.message);
    EXPECT_EQ(body.at("type").as_string(), one.type) << one.error.message;
    EXPECT_EQ(body.at("code").as_string(), one.code) << one.error.message;
    EXPECT_EQ(body.at("param"), one.param ? json::value(one.param) : json::value(nullptr));
  }
}

// Boost.JSON as the reference reader: whatever bytes go in, valid JSON comes out, and text survives unchanged.
TEST(JsonText, AnyBytesBecomeValidJson) {
  Rng rng(7);
  constexpr uint8_t kInteresting[] = {0x00, 0x1F, 0x20, 0x22, 0x5C, 0x7F, 0x80, 0xA0, 0xBF, 0xC0, 0xC2,
                                      0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF, 0x82, 0xAC, 0x9F};
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    for (uint32_t i = rng.below(8); i > 0; --i)
      bytes.push_back(static_cast<char>(kInteresting[rng.below(std::size(kInteresting))]));
    std::string text;
    append_json_string(text, bytes);
    json::error_code failure;
    const json::value value = json::parse(text, failure);
    ASSERT_FALSE(failure) << text;
    std::string plain = "\"";
    for (char c : bytes) plain += static_cast<uint8_t>(c) < 0x20 || c == '"' || c == '\\' ? 'x' : c;
    json::error_code invalid;
    (void)json::parse(plain + '"', invalid);
    ASSERT_EQ(is_utf8(bytes), !invalid.failed());
    if (is_utf8(bytes)) {
      ASSERT_EQ(std::string(value.as_string()), bytes);
    }
  }
}

TEST(JsonText, ReplacesOneCharacterPerMaximalPrefix) {
  const auto repaired = [](std::string_view bytes) {
    std::string text;
    append_json_string(text, bytes);
    return text.substr(1, text.size() - 2);
  };
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(repaired("a\xE2\x82z"), "a" + r + "z");
  EXPECT_EQ(repaired("\xF0\x9F\x98"), r);
  EXPECT_EQ(repaired("\xC0\xAF"), r + r) << "overlong";
  EXPECT_EQ(repaired("\xED\xA0\x80"), r + r + r) << "surrogate";
  EXPECT_EQ(repaired("\xFF"), r);
}

TEST(JsonText, NumbersReadBackEqual) {
  Rng rng(3);
  for (int i = 0; i < 10'000; ++i) {
    const float number = -rng.uniform(0.0F, 50.0F);
    std::string text;
    append_json_number(text, number);
    EXPECT_EQ(std::strtof(text.c_str(), nullptr), number) << text;
  }
}

}  // namespace
}  // namespace brio::api
