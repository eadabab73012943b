#include "api/anthropic_response.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace brio::api {
namespace {

namespace json = boost::json;

Done done(int prompt, int cached, int completion) {
  Done out;
  out.usage.prompt_tokens = prompt;
  out.usage.cached_tokens = cached;
  out.usage.completion_tokens = completion;
  return out;
}

std::vector<Frame> stream(const std::vector<Event>& events) {
  const auto writer = anthropic_stream({"msg_1", "m", 8});
  std::vector<Frame> frames;
  for (const Event& event : events) writer->write(event, frames);
  return frames;
}

json::object fold(const std::vector<Event>& events) {
  const auto folded = anthropic_fold({"msg_1", "m", 8});
  for (const Event& event : events) folded->add(event);
  return json::parse(folded->json()).as_object();
}

const std::vector<Event> kAnswer = {Started{10, 4},
                                    Delta{0, "Hel", {}},
                                    Delta{0, "", {}},
                                    Delta{0, "lo \"you\"", {}},
                                    Finish{0, FinishReason::kStop, ""},
                                    done(10, 4, 5)};

TEST(AnthropicStream, EventsComeInAnthropicsOrder) {
  std::vector<std::string> names;
  for (const Frame& frame : stream(kAnswer)) {
    EXPECT_EQ(json::parse(frame.data).at("type").as_string(), std::string(frame.name));
    names.emplace_back(frame.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"message_start", "content_block_start", "content_block_delta",
                                      "content_block_delta", "content_block_stop", "message_delta", "message_stop"}));
}

TEST(AnthropicStream, TheFirstEventHasTheRealUsage) {
  const json::value start = json::parse(stream(kAnswer)[0].data);
  const json::value& message = start.at("message");
  EXPECT_EQ(message.at("usage").at("input_tokens"), 6) << "without what the cache gave";
  EXPECT_EQ(message.at("usage").at("cache_read_input_tokens"), 4);
  EXPECT_EQ(message.at("usage").at("output_tokens"), 0);
  EXPECT_TRUE(message.at("stop_reason").is_null());
  EXPECT_EQ(message.at("content").as_array().size(), 0U);
}

// What a client puts together from the events of a stream.
json::object assembled(const std::vector<Frame>& frames) {
  json::object message;
  for (const Frame& frame : frames) {
    const json::value event = json::parse(frame.data);
    if (frame.name == "message_start") message = event.at("message").as_object();
    if (frame.name == "content_block_start") {
      EXPECT_EQ(event.at("index"), message["content"].as_array().size());
      message["content"].as_array().push_back(event.at("content_block"));
    }
    if (frame.name == "content_block_delta") {
      json::object& block = message["content"].as_array().at(event.at("index").to_number<size_t>()).as_object();
      const json::object& delta = event.at("delta").as_object();
      for (const char* key : {"text", "thinking"}) {
        if (delta.contains(key)) block[key] = std::string(block[key].as_string()) + delta.at(key).as_string().c_str();
      }
      if (delta.contains("partial_json"))
        block["partial"] =
            block["partial"].is_string()
                ? json::value(std::string(block["partial"].as_string()) + delta.at("partial_json").as_string().c_str())
                : delta.at("partial_json");
    }
    if (frame.name == "content_block_stop") {
      json::object& block = message["content"].as_array().at(event.at("index").to_number<size_t>()).as_object();
      if (block.contains("partial")) block["input"] = json::parse(block["partial"].as_string());
      block.erase("partial");
    }
    if (frame.name == "message_delta") {
      for (const auto& [key, value] : event.at("delta").as_object()) message[key] = value;
      message["usage"] = event.at("usage");
    }
  }
  return message;
}

TEST(AnthropicStream, AddsUpToTheWholeMessage) {
  EXPECT_EQ(assembled(stream(kAnswer)), fold(kAnswer));
  EXPECT_EQ(fold(kAnswer).at("content").at(0).at("text").as_string(), "Hello \"you\"");
  Delta thought;
  thought.reasoning = "hm";
  const auto call = [](int index, const std::string& name, const std::string& arguments) {
    Delta out;
    out.tool_call = ToolCallDelta{index, name.empty() ? "" : fmt::format("t{}", index), name, arguments};
    return out;
  };
  const std::vector<Event> calls = {Started{10, 4},
                                    thought,
                                    thought,
                                    Delta{0, "Calling", {}},
                                    call(0, "f", ""),
                                    call(0, "", R"({"x":)"),
                                    call(0, "", "1}"),
                                    call(1, "g", "{}"),
                                    Finish{0, FinishReason::kToolCalls, ""},
                                    done(10, 4, 5)};
  EXPECT_EQ(assembled(stream(calls)), fold(calls));
  const json::object message = fold(calls);
  EXPECT_EQ(message.at("stop_reason").as_string(), "tool_use");
  ASSERT_EQ(message.at("content").as_array().size(), 4U);
  EXPECT_EQ(message.at("content").at(0).at("thinking").as_string(), "hmhm");
  EXPECT_EQ(message.at("content").at(2).at("input").at("x"), 1);
  EXPECT_EQ(message.at("content").at(3).at("id").as_string(), "t1");
  const std::vector<Event> nothing = {Started{3, 0}, Finish{0, FinishReason::kStop, ""}, done(3, 0, 1)};
  EXPECT_EQ(assembled(stream(nothing)), fold(nothing));
  EXPECT_TRUE(fold(nothing).at("content").as_array().empty());
}

TEST(AnthropicStream, StopReasons) {
  struct Case {
    Finish finish;
    int tokens;
    const char* reason;
    json::value sequence;
  };
  const Case cases[] = {{{0, FinishReason::kStop, ""}, 3, "end_turn", nullptr},
                        {{0, FinishReason::kStop, "EN\"D"}, 3, "stop_sequence", "EN\"D"},
                        {{0, FinishReason::kLength, ""}, 8, "max_tokens", nullptr},
                        {{0, FinishReason::kLength, ""}, 7, "model_context_window_exceeded", nullptr}};
  for (const Case& c : cases) {
    const json::object message = fold({Started{3, 0}, Delta{0, "x", {}}, c.finish, done(3, 0, c.tokens)});
    EXPECT_EQ(message.at("stop_reason").as_string(), c.reason);
    EXPECT_EQ(message.at("stop_sequence"), c.sequence);
  }
}

TEST(AnthropicStream, AnErrorIsAnEventAndNothingFollows) {
  const auto frames = stream({Started{3, 0}, Delta{0, "x", {}}, Failed{error(ErrorCode::kNumeric, "not finite")}});
  EXPECT_EQ(frames.back().name, "error");
  const json::value body = json::parse(frames.back().data);
  EXPECT_EQ(body.at("type").as_string(), "error");
  EXPECT_EQ(body.at("error").at("type").as_string(), "api_error");
  EXPECT_EQ(body.at("error").at("message").as_string(), "not finite");
}

TEST(AnthropicStream, APingSaysThatTheServerIsThere) {
  const auto ping = anthropic_stream({"msg_1", "m", 8})->keep_alive();
  ASSERT_TRUE(ping.has_value());
  EXPECT_EQ(ping->name, "ping");
  EXPECT_EQ(ping->data, R"({"type":"ping"})");
}

TEST(AnthropicError, TypesFollowTheStatus) {
  const std::pair<ErrorCode, const char*> codes[] = {{ErrorCode::kInvalidArgument, "invalid_request_error"},
                                                     {ErrorCode::kUnsupported, "invalid_request_error"},
                                                     {ErrorCode::kContextLengthExceeded, "invalid_request_error"},
                                                     {ErrorCode::kNotFound, "not_found_error"},
                                                     {ErrorCode::kOverloaded, "rate_limit_error"},
                                                     {ErrorCode::kUnavailable, "overloaded_error"},
                                                     {ErrorCode::kTimeout, "timeout_error"},
                                                     {ErrorCode::kInternal, "api_error"}};
  for (const auto& [code, type] : codes) {
    const json::value body = json::parse(kAnthropic.error_body(error(code, "m"), "req_1"));
    EXPECT_EQ(body.at("type").as_string(), "error");
    EXPECT_EQ(body.at("error").at("type").as_string(), type);
    EXPECT_EQ(body.at("request_id").as_string(), "req_1");
  }
  EXPECT_EQ(json::parse(anthropic_error(413, "m", "")).at("error").at("type").as_string(), "request_too_large");
}

TEST(AnthropicModels, AreListedInAnthropicsShape) {
  ModelInfo model;
  model.id = "m";
  model.context = 512;
  model.created = 1'700'000'000;
  const json::value list = json::parse(anthropic_models({{model}}));
  EXPECT_EQ(list.at("data").at(0).at("created_at").as_string(), "2023-11-14T22:13:20Z");
  EXPECT_EQ(list.at("data").at(0).at("max_input_tokens"), 512);
  EXPECT_EQ(list.at("first_id").as_string(), "m");
  EXPECT_EQ(list.at("has_more"), false);
  EXPECT_TRUE(json::parse(anthropic_models({})).at("last_id").is_null());
}

}  // namespace
}  // namespace brio::api
