// Chats from the template to api's events: a model that recites answers with tool calls and reasoning.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "engine/testing/byte_tokenizer.h"
#include "engine/testing/hash_model.h"
#include "server/call_id.h"
#include "server/chat_prompt.h"
#include "server/local_backend.h"

namespace brio::server {
namespace {

constexpr const char* kPlain = "{% for m in messages %}{{ m.content }};{% endfor %}";
constexpr std::string_view kToolCalls = "[TOOL_CALLS]";
constexpr int32_t kToolCallsToken = engine::testing::kFirstControlToken;

class Collector final : public api::EventSink {
 public:
  void on_event(api::Event event) override {
    std::lock_guard lock(mutex_);
    over_ = std::holds_alternative<api::Done>(event) || std::holds_alternative<api::Failed>(event);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }
  std::vector<api::Event> wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return over_; })) << "no end";
    return events_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<api::Event> events_;
  bool over_ = false;
};

LoadedModel load(const char* chat_template, const char* tools, const char* reasoning = nullptr) {
  LoadedModel out;
  out.name = "recites";
  out.tokenizer = engine::testing::byte_tokenizer({std::string(kToolCalls)});
  out.chat_template = std::move(chat::Template::parse(chat_template)).value();
  out.traits = chat::probe_template(*out.chat_template, "", "");
  if (tools) out.output.tools = chat::find_tool_format(tools).value();
  if (reasoning) out.output.reasoning = chat::find_reasoning_format(reasoning).value();
  return out;
}

api::ChatRequest chat(bool with_tools = true) {
  api::ChatRequest out;
  out.messages.emplace_back();
  out.messages.back().role = "user";
  out.messages.back().content = "hi";
  if (with_tools) {
    out.tools_json = R"([{"type":"function","function":{"name":"f","description":"Adds.","parameters":{}}},)"
                     R"({"type":"function","function":{"name":"g"}}])";
  }
  out.generation.sampling.temperature = 0.0F;
  return out;
}

// The ids of a text in which control tokens stand by their spelling.
std::vector<int32_t> ids_of(std::string_view text) {
  std::vector<int32_t> out;
  while (!text.empty()) {
    const bool control = text.starts_with(kToolCalls);
    out.push_back(control ? kToolCallsToken : static_cast<uint8_t>(text[0]));
    text.remove_prefix(control ? kToolCalls.size() : 1);
  }
  return out;
}

struct Call {
  std::string id, name, arguments;
};

// What a client makes of the events.
struct Folded {
  std::string text, reasoning;
  std::vector<Call> calls;
  int argument_deltas = 0;
  size_t logprobs = 0;
  api::FinishReason reason = api::FinishReason::kStop;
  api::Usage usage;
};

Folded fold(const std::vector<api::Event>& events) {
  Folded out;
  for (const api::Event& event : events) {
    if (const auto* failed = std::get_if<api::Failed>(&event)) ADD_FAILURE() << failed->error.message;
    if (const auto* finish = std::get_if<api::Finish>(&event)) out.reason = finish->reason;
    if (const auto* done = std::get_if<api::Done>(&event)) out.usage = done->usage;
    const auto* delta = std::get_if<api::Delta>(&event);
    if (!delta) continue;
    out.text += delta->text;
    out.reasoning += delta->reasoning;
    out.logprobs += delta->logprobs.size();
    EXPECT_LE(int{!delta->text.empty()} + int{!delta->reasoning.empty()} + int{delta->tool_call.has_value()}, 1);
    if (!delta->tool_call) continue;
    const api::ToolCallDelta& call = *delta->tool_call;
    if (!call.name.empty()) {
      EXPECT_EQ(call.index, static_cast<int>(out.calls.size()));
      EXPECT_FALSE(call.id.empty());
      out.calls.push_back({call.id, call.name, ""});
    } else {
      EXPECT_EQ(call.index, static_cast<int>(out.calls.size()) - 1);
      EXPECT_TRUE(call.id.empty());
      ++out.argument_deltas;
    }
    out.calls.back().arguments += call.arguments;
  }
  return out;
}

// The answer of a model that says `answer` and ends.
Folded ask(LoadedModel model, api::ChatRequest request, std::string_view answer) {
  engine::testing::HashModelShape shape;
  shape.vocab = 300;
  shape.context = 1024;
  shape.recites.assign(chat_prompt(model, request).value().size() - 1, 0);
  for (const int32_t id : ids_of(answer)) shape.recites.push_back(id);
  shape.recites.push_back(engine::testing::kEndToken);
  model.model = std::make_unique<engine::testing::HashModel>(shape, model::Limits{64, 16});
  engine::EngineOptions options;
  options.max_sequences = 4;
  auto created = LocalBackend::create(std::move(model), options, nullptr, {});
  if (!created.ok()) {
    ADD_FAILURE() << created.error().message;
    return {};
  }
  const std::shared_ptr<LocalBackend> backend = std::move(created).value();
  auto sink = std::make_shared<Collector>();
  const auto call = backend->start(std::move(request), sink);
  return fold(sink->wait());
}

constexpr const char* kTwoCalls =
    "Hm.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>\n{\"name\": "
    "\"g\"}\n</tool_call>";

TEST(ChatOutput, CallsHaveIndexIdAndArguments) {
  const Folded answer = ask(load(kPlain, "hermes"), chat(), kTwoCalls);
  EXPECT_EQ(answer.text, "Hm.");
  ASSERT_EQ(answer.calls.size(), 2U);
  EXPECT_EQ(answer.calls[0].name, "f");
  EXPECT_EQ(answer.calls[0].arguments, R"({"a": 1})");
  EXPECT_EQ(answer.calls[0].id.size(), std::string("call_").size() + 24);
  EXPECT_EQ(answer.calls[1].name, "g");
  EXPECT_EQ(answer.calls[1].arguments, "{}") << "none at all";
  EXPECT_NE(answer.calls[0].id, answer.calls[1].id);
  EXPECT_EQ(answer.reason, api::FinishReason::kToolCalls);
  EXPECT_EQ(answer.argument_deltas, 8 + 1) << "one per token";
}

TEST(ChatOutput, WithoutToolsNothingIsParsed) {
  const Folded answer = ask(load(kPlain, "hermes"), chat(false), kTwoCalls);
  EXPECT_EQ(answer.text, kTwoCalls);
  EXPECT_EQ(answer.reason, api::FinishReason::kStop);
}

TEST(ChatOutput, OneCallAloneWhereOneIsWanted) {
  api::ChatRequest request = chat();
  request.parallel_tool_calls = false;
  const Folded answer = ask(load(kPlain, "hermes"), request, kTwoCalls);
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments, R"({"a": 1})");
}

TEST(ChatOutput, MarkersThatAreControlTokensAreSeen) {
  const std::string text = R"(Hm.[TOOL_CALLS]f[ARGS]{"a": 1})";
  const Folded answer = ask(load(kPlain, "mistral"), chat(), text);
  EXPECT_EQ(answer.text, "Hm.");
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments, R"({"a": 1})");
  EXPECT_EQ(answer.calls[0].id.size(), 9U) << "its template takes no others";
  EXPECT_EQ(ask(load(kPlain, "mistral"), chat(false), text).text, R"(Hm.f[ARGS]{"a": 1})")
      << "hidden as ever without tools";
}

TEST(ChatOutput, ACutCallIsPartialAndOfLengthReason) {
  api::ChatRequest request = chat();
  request.generation.max_tokens = static_cast<int>(std::string_view(kTwoCalls).find("1}"));
  const Folded answer = ask(load(kPlain, "hermes"), request, kTwoCalls);
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments, R"({"a": )");
  EXPECT_EQ(answer.reason, api::FinishReason::kLength);
}

TEST(ChatOutput, ControlCharactersInArgumentsAreEscaped) {
  const Folded answer = ask(load(kPlain, "hermes"), chat(),
                            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\n\ty\"}}</tool_call>");
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments, "{\"a\": \"x\\u000a\\u0009y\"}");
}

TEST(ChatOutput, ReasoningThatTheTemplateOpensIsSplitOffAndCounted) {
  const Folded answer =
      ask(load("{{ messages[0].content }}<think>\n", nullptr, "think"), chat(false), "so.\n</think>\n\nYes.");
  EXPECT_EQ(answer.reasoning, "so.");
  EXPECT_EQ(answer.text, "Yes.");
  EXPECT_EQ(answer.usage.reasoning_tokens, static_cast<int>(std::string("so.\n</think>").size()));
  EXPECT_EQ(answer.usage.completion_tokens, answer.usage.reasoning_tokens + 7) << "and the end token";
}

TEST(ChatOutput, EveryTokenKeepsItsLogprobs) {
  api::ChatRequest request = chat();
  request.generation.top_logprobs = 1;
  const Folded answer = ask(load(kPlain, "hermes", "think"), request, kTwoCalls);
  EXPECT_EQ(answer.logprobs, std::string(kTwoCalls).size());
  EXPECT_EQ(answer.calls.size(), 2U);
}

// ---- what templates get ----

std::string prompt(const LoadedModel& model, const api::ChatRequest& request) {
  const auto pieces = chat_text(model, request);
  EXPECT_TRUE(pieces.ok()) << pieces.error().message;
  return pieces.ok() ? chat::join(*pieces) : "";
}

api::ChatRequest with_a_call() {
  api::ChatRequest request = chat();
  api::Message call;
  call.role = "assistant";
  call.tool_calls.push_back({"call_0123", "f", R"({"a": [1, "x"]})"});
  call.tool_calls.push_back({"call_4567", "g", ""});
  request.messages.push_back(call);
  for (const char* id : {"call_0123", "call_4567"}) {
    api::Message result;
    result.role = "tool";
    result.content = std::string("result of ") + id;
    result.tool_call_id = id;
    request.messages.push_back(result);
  }
  return request;
}

constexpr const char* kCalls =
    "{% for m in messages %}{% if m.tool_calls %}{{ m.content is none }}{% for c in m.tool_calls %}[{{ c.function.name "
    "}}"
    " {{ ARGUMENTS }} {{ c.id }}]{% endfor %}{% else %}{{ m.name }}:{{ m.content }}{{ m.tool_call_id }};{% endif %}"
    "{% endfor %}";

std::string template_with(std::string arguments) {
  return std::string(kCalls).replace(std::string(kCalls).find("ARGUMENTS"), std::string("ARGUMENTS").size(), arguments);
}

TEST(ChatTemplate, ArgumentsComeInTheFormTheTemplateWants) {
  const std::string calls = R"(False[f {"a": [1, "x"]} call_0123][g {} call_4567])";
  const std::string results = "f:result of call_0123call_0123;g:result of call_4567call_4567;";
  for (const char* arguments : {"c.function.arguments | tojson", "'' + c.function.arguments"}) {
    const LoadedModel model = load(template_with(arguments).c_str(), "hermes");
    EXPECT_EQ(model.traits.text_arguments, std::string(arguments).starts_with("''"));
    LoadedModel knows = load(template_with(arguments).c_str(), "hermes");
    knows.traits.takes_tools = true;
    EXPECT_EQ(prompt(knows, with_a_call()), ":hi;" + calls + results);
  }
}

TEST(ChatTemplate, ContentIsNullWhereOnlyThatShowsCalls) {
  LoadedModel model = load(
      "{{ tools }}{% for m in messages %}{% if m.content is none %}{{ m.tool_calls[0].function.name }}"
      "{{ m.tool_calls[0].function.arguments | tojson }}{% else %}{{ m.content }};{% endif %}{% endfor %}",
      "deepseek");
  EXPECT_TRUE(model.traits.takes_tools);
  EXPECT_TRUE(model.traits.null_content);
  EXPECT_TRUE(prompt(model, with_a_call()).ends_with(R"(hi;f{"a": [1, "x"]}result of call_0123;result of call_4567;)"));
}

TEST(ChatTemplate, ToolsAreDescribedToATemplateThatKnowsNone) {
  const LoadedModel model = load("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", "json");
  EXPECT_FALSE(model.traits.takes_tools);
  const std::string text = prompt(model, with_a_call());
  EXPECT_TRUE(text.starts_with("<system>")) << text;
  EXPECT_NE(text.find(R"({"name":"f","description":"Adds.","parameters":{}})"), std::string::npos) << text;
  EXPECT_NE(text.find("<user>hi<assistant>{\"name\": \"f\", \"parameters\": {\"a\":[1,\"x\"]}}\n{\"name\": \"g\", "
                      "\"parameters\": {}}<user>Result of f:\nresult of call_0123\nResult of g:\nresult of call_4567"),
            std::string::npos)
      << text;
  EXPECT_EQ(prompt(model, chat(false)), "<user>hi") << "only where there are tools";
}

TEST(ChatTemplate, IdsAreShortWhereTheTemplateTakesNoOthers) {
  LoadedModel model = load(template_with("c.function.arguments | tojson").c_str(), "mistral");
  model.traits.takes_tools = true;
  const std::string text = prompt(model, with_a_call());
  const std::string id = short_call_id("call_0123");
  EXPECT_EQ(id.size(), 9U);
  EXPECT_EQ(short_call_id("abcDEF123"), "abcDEF123");
  EXPECT_NE(text.find("} " + id + "]"), std::string::npos) << text;
  EXPECT_NE(text.find("result of call_0123" + id + ";"), std::string::npos) << text;
}

}  // namespace
}  // namespace brio::server
