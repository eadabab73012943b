// libFuzzer: a byte of settings, then events: a byte of kind, one of length, that many bytes of text. An answer made of
// any events, with tokens and stop strings of any bytes, is well-formed server-sent events that hold well-formed JSON
// in UTF-8 (read back here by the WHATWG's rules and Boost.JSON), and says the same streamed and whole.
#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "api/openai_dialect.h"
#include "server/answer.h"
#include "tokenizer/utf8.h"

namespace {

using namespace brio;
namespace json = boost::json;

constexpr int kChoices = 3;
constexpr size_t kMaxEvents = 200;

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

class Client final : public net::Responder {
 public:
  std::string bytes;
  int status = 0;
  bool over = false;

  void reply(net::ServerResponse response) override {
    require(status == 0);
    status = response.status;
    bytes = std::move(response.body);
    over = true;
  }
  void begin(int code, std::string content_type, net::Headers /*headers*/) override {
    require(status == 0 && content_type == "text/event-stream");
    status = code;
  }
  void write(std::string more) override {
    require(status != 0 && !over);
    bytes += more;
  }
  void end() override {
    require(status != 0 && !over);
    over = true;
  }
  void break_off() override { over = true; }
  void on_gone(std::function<void()> /*callback*/) override {}
  void on_quiet(std::chrono::milliseconds /*quiet*/, std::function<void()> /*callback*/) override {}
  void post(std::function<void()> work) override { work(); }
};

struct Script {
  api::OpenAiShape shape;
  std::vector<api::Event> events;
  bool utf8 = true;  // every text: then nothing of it may be changed
  bool fails = false;
};

float logprob_of(std::string_view text) {
  constexpr float kOdd[] = {0.0F,
                            -0.0F,
                            -1.5F,
                            -1e-30F,
                            -3.4e38F,
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  return text.empty() ? -7.25F : kOdd[static_cast<uint8_t>(text.back()) % std::size(kOdd)];
}

// Of a chat: text, reasoning, the beginning of a call or more of its arguments, by two bits of the kind.
api::Delta chat_delta_of(std::string_view text, uint8_t kind, int choice, int& calls) {
  api::Delta delta{choice, "", {}};
  if ((kind & 0x18) == 0x08) {
    delta.reasoning = text;
  } else if ((kind & 0x18) == 0x10 && !text.empty()) {
    delta.tool_call = api::ToolCallDelta{calls++, "id", std::string(text), ""};
  } else if ((kind & 0x18) == 0x18 && calls > 0) {
    delta.tool_call = api::ToolCallDelta{calls - 1, "", "", std::string(text)};
  } else {
    delta.text = text;
  }
  return delta;
}

api::Delta delta_of(const api::OpenAiShape& shape, std::string_view text, uint8_t kind, int choice, int& calls) {
  const bool logprobs = shape.logprobs;
  api::Delta delta = shape.kind == api::OpenAiKind::kChat ? chat_delta_of(text, kind, choice, calls)
                                                          : api::Delta{choice, std::string(text), {}};
  if (!logprobs) return delta;
  const size_t half = text.size() / 2;  // tokens end anywhere, also within a character
  for (const std::string_view part : {text.substr(0, half), text.substr(half)}) {
    api::PositionLogprobs position;
    position.known = (kind & 0x40) == 0;
    position.chosen = {static_cast<int32_t>(part.size()), std::string(part), logprob_of(part)};
    if ((kind & 0x20) != 0) position.top = {position.chosen, {99, std::string(text), logprob_of(text)}};
    delta.logprobs.push_back(std::move(position));
  }
  return delta;
}

Script read_script(std::string_view in) {
  Script script;
  const auto next = [&in] {
    const uint8_t byte = in.empty() ? 0 : static_cast<uint8_t>(in[0]);
    in.remove_prefix(in.empty() ? 0 : 1);
    return byte;
  };
  const auto next_text = [&in, &next] {
    const size_t length = std::min<size_t>(next(), in.size());
    const std::string_view text = in.substr(0, length);
    in.remove_prefix(length);
    return text;
  };
  const uint8_t settings = next();
  api::OpenAiShape& shape = script.shape;
  shape.kind = (settings & 1) != 0 ? api::OpenAiKind::kCompletion : api::OpenAiKind::kChat;
  shape.logprobs = (settings & 2) != 0;
  shape.include_usage = (settings & 4) != 0;
  shape.num_choices = kChoices;
  shape.created = 1'700'000'000;
  if ((settings & 8) != 0) shape.model = next_text();
  if ((settings & 16) != 0) shape.id = shape.fingerprint = std::string(next_text());
  script.fails = (settings & 32) != 0;
  script.events.emplace_back(api::Started{3, 1});
  bool finished[kChoices] = {};
  int calls[kChoices] = {};
  const auto finish = [&](int choice, std::string_view stop, uint8_t kind) {
    finished[choice] = true;
    constexpr api::FinishReason kReasons[] = {api::FinishReason::kStop, api::FinishReason::kLength,
                                              api::FinishReason::kToolCalls, api::FinishReason::kStop};
    const auto reason = kReasons[(kind >> 2) & 3];
    script.events.emplace_back(api::Finish{choice, reason, std::string(stop)});
  };
  while (!in.empty() && script.events.size() < kMaxEvents) {
    const uint8_t kind = next();
    const std::string_view text = next_text();
    const int choice = kind % kChoices;
    script.utf8 = script.utf8 && tokenizer::is_valid_utf8(text);
    if (finished[choice]) continue;
    if (kind < 0xF0) {
      script.events.emplace_back(delta_of(shape, text, kind, choice, calls[choice]));
    } else {
      finish(choice, text, kind);
    }
  }
  if (script.fails) {
    script.events.emplace_back(api::Failed{error(ErrorCode::kInternal, "'{}' failed", next_text())});
    return script;
  }
  for (int choice = 0; choice < kChoices; ++choice) {
    if (!finished[choice]) finish(choice, {}, 0);
  }
  script.events.emplace_back(api::Done{{3, 1, 7}, {0.5, 1e9, 0.0, 1e-9}});
  return script;
}

std::shared_ptr<Client> play(const Script& script, bool stream) {
  auto client = std::make_shared<Client>();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  server::AnswerFormat format{api::kOpenAi, nullptr, nullptr};
  if (stream) {
    format.stream = api::openai_stream(script.shape);
  } else {
    format.fold = api::openai_fold(script.shape);
  }
  const auto answer = std::make_shared<server::Answer>(std::move(format), client, "", calls);
  for (const api::Event& event : script.events) answer->on_event(event);
  require(client->over);
  return client;
}

// The data of each event, by the WHATWG's rules: lines end with CR, LF or both; a blank line ends an event.
std::vector<std::string> sse_data(std::string_view in) {
  std::vector<std::string> events;
  std::string data;
  while (!in.empty()) {
    const size_t end = in.find_first_of("\r\n");
    require(end != std::string_view::npos);
    const std::string_view line = in.substr(0, end);
    in.remove_prefix(in.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
    if (line.empty()) {
      require(!data.empty());
      data.pop_back();
      events.push_back(std::move(data));
      data.clear();
    } else {
      require(line.starts_with("data: "));
      data.append(line.substr(6)).push_back('\n');
    }
  }
  require(data.empty());
  return events;
}

json::object parsed(const std::string& text) {
  json::error_code failure;
  json::value value = json::parse(text, failure);
  require(!failure && value.is_object());
  return std::move(value.get_object());
}

struct ToolCall {
  std::string id, name, arguments;
  bool operator==(const ToolCall&) const = default;
};

struct Choice {
  std::string text;
  std::string reasoning;
  std::vector<ToolCall> calls;
  std::vector<std::string> token_bytes;
  std::vector<json::value> token_logprobs;
  std::vector<int64_t> text_offsets;
  json::array logprobs;
  json::value finish_reason;
  json::value stop_reason;
  bool operator==(const Choice&) const = default;
};
using Choices = std::vector<Choice>;

// Of a delta, or of a whole message.
void add_reasoning_and_calls(const json::object& object, Choice& out) {
  if (const json::value* reasoning = object.if_contains("reasoning_content")) {
    out.reasoning += std::string(reasoning->as_string());
  }
  const json::value* calls = object.if_contains("tool_calls");
  for (size_t i = 0; calls != nullptr && i < calls->as_array().size(); ++i) {
    const json::object& call = calls->as_array()[i].as_object();
    const json::object& function = call.at("function").as_object();
    if (const json::value* id = call.if_contains("id")) {
      require(call.at("type") == "function");
      out.calls.push_back({std::string(id->as_string()), std::string(function.at("name").as_string()), ""});
    }
    require(!out.calls.empty());
    if (const json::value* index = call.if_contains("index")) require(*index == out.calls.size() - 1);
    out.calls.back().arguments += std::string(function.at("arguments").as_string());
  }
}

void add_logprobs(const json::value& value, Choice& out) {
  if (value.is_null()) return;
  const json::object& object = value.as_object();
  if (const json::value* content = object.if_contains("content")) {
    for (const json::value& token : content->as_array()) {
      std::string bytes;
      for (const json::value& byte : token.at("bytes").as_array()) bytes.push_back(static_cast<char>(byte.as_int64()));
      out.token_bytes.push_back(std::move(bytes));
      out.token_logprobs.push_back(token.at("logprob"));
      out.logprobs.push_back(token);
    }
    return;
  }
  const json::array& tokens = object.at("tokens").as_array();
  for (const char* name : {"token_logprobs", "top_logprobs", "text_offset"}) {
    require(object.at(name).as_array().size() == tokens.size());
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    out.text_offsets.push_back(object.at("text_offset").at(i).as_int64());
    out.logprobs.push_back({tokens[i], object.at("token_logprobs").at(i), object.at("top_logprobs").at(i),
                            object.at("text_offset").at(i)});
  }
}

Choices streamed(const Script& script, const std::string& bytes) {
  Choices choices(kChoices);
  std::vector<std::string> events = sse_data(bytes);
  require(!events.empty());
  if (!script.fails) {
    require(events.back() == "[DONE]");
    events.pop_back();
  }
  for (size_t i = 0; i < events.size(); ++i) {
    const json::object chunk = parsed(events[i]);
    if (script.fails && i + 1 == events.size()) {
      require(chunk.at("error").at("message").is_string());
      break;
    }
    for (const json::value& item : chunk.at("choices").as_array()) {
      Choice& choice = choices.at(static_cast<size_t>(item.at("index").as_int64()));
      require(choice.finish_reason.is_null());  // nothing after the end
      const json::object& object = item.as_object();
      const json::value* text = script.shape.kind == api::OpenAiKind::kChat
                                    ? object.at("delta").as_object().if_contains("content")
                                    : object.if_contains("text");
      if (text != nullptr) choice.text += std::string(text->as_string());
      if (script.shape.kind == api::OpenAiKind::kChat) add_reasoning_and_calls(object.at("delta").as_object(), choice);
      add_logprobs(object.at("logprobs"), choice);
      choice.finish_reason = object.at("finish_reason");
      if (const json::value* stop = object.if_contains("stop_reason")) choice.stop_reason = *stop;
    }
  }
  return choices;
}

Choices whole(const Script& script, const std::string& body) {
  Choices choices;
  const json::object answer = parsed(body);
  require(answer.at("usage").at("total_tokens") == 10);
  for (const json::value& item : answer.at("choices").as_array()) {
    require(item.at("index") == choices.size());
    Choice& choice = choices.emplace_back();
    const bool chat = script.shape.kind == api::OpenAiKind::kChat;
    const json::value& text = chat ? item.at("message").at("content") : item.at("text");
    if (chat) add_reasoning_and_calls(item.at("message").as_object(), choice);
    require(!text.is_null() || !choice.calls.empty());
    if (text.is_string()) choice.text = std::string(text.as_string());
    add_logprobs(item.at("logprobs"), choice);
    choice.finish_reason = item.at("finish_reason");
    choice.stop_reason = item.at("stop_reason");
  }
  return choices;
}

// JSON has no infinities and no NaN.
void check_number(const json::value& read, float written) {
  if (std::isnan(written)) return require(read.is_null());
  if (std::isinf(written)) written = written > 0 ? 9999.0F : -9999.0F;
  require(read.to_number<float>() == written);
}

// Where each token begins in the text, in characters; one that begins within a character counts from behind it.
void check_offsets(const std::vector<int64_t>& offsets, const std::vector<std::string>& tokens) {
  require(offsets.size() == tokens.size());
  int64_t characters = 0;
  for (size_t t = 0; t < tokens.size(); ++t) {
    require(offsets[t] == characters);
    for (const char c : tokens[t]) characters += (c & 0xC0) == 0x80 ? 0 : 1;
  }
}

// What the events say, read off without any JSON.
void check_against_events(const Script& script, const Choices& choices) {
  Choices expected(kChoices);
  for (const api::Event& event : script.events) {
    if (const auto* delta = std::get_if<api::Delta>(&event)) {
      Choice& choice = expected[static_cast<size_t>(delta->choice)];
      choice.text += delta->text;
      choice.reasoning += delta->reasoning;
      if (delta->tool_call && !delta->tool_call->name.empty()) {
        choice.calls.push_back({delta->tool_call->id, delta->tool_call->name, ""});
      }
      if (delta->tool_call) choice.calls.back().arguments += delta->tool_call->arguments;
      for (const auto& position : delta->logprobs) choice.token_bytes.push_back(position.chosen.bytes);
    } else if (const auto* finish = std::get_if<api::Finish>(&event)) {
      Choice& choice = expected[static_cast<size_t>(finish->choice)];
      choice.finish_reason = finish->reason == api::FinishReason::kStop     ? "stop"
                             : finish->reason == api::FinishReason::kLength ? "length"
                                                                            : "tool_calls";
      if (!finish->matched_stop.empty()) choice.stop_reason = finish->matched_stop;
    }
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    require(choices[i].finish_reason == expected[i].finish_reason);
    require(!script.utf8 || (choices[i].text == expected[i].text && choices[i].stop_reason == expected[i].stop_reason));
    require(!script.utf8 || (choices[i].reasoning == expected[i].reasoning && choices[i].calls == expected[i].calls));
    if (script.shape.kind != api::OpenAiKind::kChat) {
      if (script.utf8 && script.shape.logprobs) check_offsets(choices[i].text_offsets, expected[i].token_bytes);
      continue;
    }
    require(choices[i].token_bytes == expected[i].token_bytes);
    for (size_t t = 0; t < expected[i].token_bytes.size(); ++t) {
      check_number(choices[i].token_logprobs[t], logprob_of(expected[i].token_bytes[t]));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Script script = read_script({reinterpret_cast<const char*>(data), size});
  const auto stream = play(script, true);
  require(stream->status == 200);
  const Choices from_stream = streamed(script, stream->bytes);
  const auto fold = play(script, false);
  if (script.fails) {
    require(fold->status >= 500 && parsed(fold->bytes).at("error").at("message").is_string());
    return 0;
  }
  const Choices from_fold = whole(script, fold->bytes);
  check_against_events(script, from_fold);
  check_against_events(script, from_stream);
  require(!script.utf8 || from_fold == from_stream);
  return 0;
}
