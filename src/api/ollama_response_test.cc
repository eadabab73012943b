#include "api/ollama_response.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace brio::api {
namespace {

namespace json = boost::json;

Delta text(const std::string& piece) {
  return Delta{0, piece, {}};
}
Delta thought(const std::string& piece) {
  Delta out;
  out.reasoning = piece;
  return out;
}
Delta call(int index, const std::string& name, const std::string& arguments) {
  Delta out;
  out.tool_call = ToolCallDelta{index, name.empty() ? "" : "id", name, arguments};
  return out;
}

std::vector<Event> answer(std::vector<Event> deltas, FinishReason reason = FinishReason::kStop) {
  std::vector<Event> out = {Started{10, 0}};
  out.insert(out.end(), deltas.begin(), deltas.end());
  out.emplace_back(Finish{0, reason, ""});
  Done done;
  done.usage.prompt_tokens = 10;
  done.usage.completion_tokens = 5;
  done.timings = {1.0, 3.5, 0.5, 10.0};
  out.emplace_back(done);
  return out;
}

OllamaShape shape(OllamaKind kind, bool logprobs = false) {
  return {kind, "m", 1'700'000'000, logprobs};
}

std::vector<json::object> stream(const OllamaShape& shape, const std::vector<Event>& events) {
  const auto writer = ollama_stream(shape);
  std::vector<Frame> frames;
  for (const Event& event : events) writer->write(event, frames);
  std::vector<json::object> out;
  for (const Frame& frame : frames) {
    EXPECT_EQ(frame.data.find('\n'), std::string::npos) << "a line is an object";
    out.push_back(json::parse(frame.data).as_object());
  }
  return out;
}

json::object fold(const OllamaShape& shape, const std::vector<Event>& events) {
  const auto folded = ollama_fold(shape);
  for (const Event& event : events) folded->add(event);
  return json::parse(folded->json()).as_object();
}

TEST(OllamaStream, EachPieceIsALineAndTheLastHasTheNumbers) {
  const auto lines = stream(shape(OllamaKind::kChat), answer({text("Hel"), text(""), text("lo")}));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(
      json::serialize(lines[0]),
      R"({"model":"m","created_at":"2023-11-14T22:13:20Z","message":{"role":"assistant","content":"Hel"},"done":false})");
  const json::object& last = lines[2];
  EXPECT_EQ(last.at("done"), true);
  EXPECT_EQ(last.at("done_reason").as_string(), "stop");
  EXPECT_EQ(last.at("total_duration"), 10'000'000);
  EXPECT_EQ(last.at("load_duration"), 0);
  EXPECT_EQ(last.at("prompt_eval_count"), 10);
  EXPECT_EQ(last.at("prompt_eval_duration"), 2'500'000);
  EXPECT_EQ(last.at("eval_count"), 5);
  EXPECT_EQ(last.at("eval_duration"), 6'500'000);
  EXPECT_EQ(stream(shape(OllamaKind::kGenerate), answer({text("x")}))[0].at("response").as_string(), "x");
}

// What a client puts together from the lines of a stream.
json::object assembled(OllamaKind kind, const std::vector<json::object>& lines) {
  json::object out = lines.back();
  std::string said;
  std::string thinking;
  json::array calls;
  json::array logprobs;
  for (const json::object& line : lines) {
    const json::object& from = kind == OllamaKind::kChat ? line.at("message").as_object() : line;
    said += std::string(from.at(kind == OllamaKind::kChat ? "content" : "response").as_string());
    if (from.contains("thinking")) thinking += std::string(from.at("thinking").as_string());
    if (from.contains("tool_calls")) calls = from.at("tool_calls").as_array();
    if (line.contains("logprobs")) {
      for (const json::value& entry : line.at("logprobs").as_array()) logprobs.push_back(entry);
    }
  }
  json::object& to = kind == OllamaKind::kChat ? out.at("message").as_object() : out;
  to[kind == OllamaKind::kChat ? "content" : "response"] = said;
  if (!thinking.empty()) to["thinking"] = thinking;
  if (!calls.empty()) to["tool_calls"] = calls;
  if (!logprobs.empty()) out["logprobs"] = logprobs;
  return out;
}

TEST(OllamaStream, AddsUpToTheWholeAnswer) {
  Delta scored = text("q");
  scored.logprobs = {{true, true, {7, "q", -0.5F}, {{7, "q", -0.5F}, {8, "\xC3", -1.5F}}}};
  const std::vector<Event> events =
      answer({thought("I "), thought("think"), text("so \"it\" is"), scored, call(0, "f", ""), call(0, "", R"({"x":)"),
              call(0, "", "1}"), call(1, "g", "{}")},
             FinishReason::kToolCalls);
  for (const OllamaKind kind : {OllamaKind::kChat, OllamaKind::kGenerate}) {
    EXPECT_EQ(assembled(kind, stream(shape(kind, true), events)), fold(shape(kind, true), events));
  }
  const json::object whole = fold(shape(OllamaKind::kChat, true), events);
  const json::value& calls = whole.at("message").at("tool_calls");
  ASSERT_EQ(calls.as_array().size(), 2U);
  EXPECT_EQ(calls.at(0).at("function").at("arguments").at("x"), 1);
  EXPECT_EQ(calls.at(1).at("function").at("name").as_string(), "g");
  EXPECT_EQ(whole.at("logprobs").at(0).at("top_logprobs").at(1).at("bytes").at(0), 0xC3);
  EXPECT_EQ(whole.at("done_reason").as_string(), "stop");
}

TEST(OllamaStream, ACallThatWasCutOffStaysAnObject) {
  const auto whole = fold(shape(OllamaKind::kChat), answer({call(0, "f", R"({"x":)")}, FinishReason::kLength));
  EXPECT_TRUE(whole.at("message").at("tool_calls").at(0).at("function").at("arguments").as_object().empty());
  EXPECT_EQ(whole.at("done_reason").as_string(), "length");
}

TEST(OllamaStream, AnErrorIsALineOfItsOwn) {
  const auto lines = stream(shape(OllamaKind::kChat), {Started{}, text("x"), Failed{error(ErrorCode::kNumeric, "no")}});
  EXPECT_EQ(json::serialize(lines.back()), R"({"error":"no"})");
  EXPECT_FALSE(ollama_stream(shape(OllamaKind::kChat))->keep_alive().has_value());
}

ModelInfo model() {
  auto details = std::make_shared<ModelDetails>();
  *details = {"llama", "gguf", "Q8_0", std::string(64, 'a'), "{{ messages }}", 134'515'008, 1'000, 576, 30,
              9,       3,      49'152};
  return {"m", 2048, true, 1'700'000'000, details};
}

TEST(OllamaModels, ListsHaveTags) {
  const json::value tags = json::parse(ollama_tags({{model()}}));
  EXPECT_EQ(tags.at("models").at(0).at("name").as_string(), "m:latest");
  EXPECT_EQ(tags.at("models").at(0).at("details").at("parameter_size").as_string(), "134.5M");
  EXPECT_EQ(tags.at("models").at(0).at("details").at("quantization_level").as_string(), "Q8_0");
  const json::value running = json::parse(ollama_running({{model()}}));
  EXPECT_EQ(running.at("models").at(0).at("context_length"), 2048);
  EXPECT_TRUE(json::parse(ollama_tags({})).at("models").as_array().empty());
}

TEST(OllamaModels, ShowNamesTheContextByArchitecture) {
  const json::value shown = json::parse(ollama_show(model()));
  EXPECT_EQ(shown.at("model_info").at("llama.context_length"), 2048);
  EXPECT_EQ(shown.at("model_info").at("general.architecture").as_string(), "llama");
  EXPECT_EQ(shown.at("model_info").at("general.parameter_count"), 134'515'008);
  EXPECT_EQ(json::serialize(shown.at("capabilities")), R"(["completion","tools"])");
  EXPECT_EQ(shown.at("template").as_string(), "{{ messages }}");
}

}  // namespace
}  // namespace brio::api
