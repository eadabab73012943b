// libFuzzer: request bodies of strangers, read as a chat and as a completion. What is accepted lies within the limits
// that the API states, and means the same when the body is written in another spelling (escapes, spaces, number
// formats); what is refused is refused with an error body of well-formed JSON.
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/openai_request.h"
#include "api/openai_response.h"

namespace {

using namespace brio;
namespace json = boost::json;

using Parse = Result<api::OpenAiRequest> (*)(std::string_view);

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

std::optional<json::value> read_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = 128;
  json::error_code failure;
  json::value value = json::parse(json::string_view(text.data(), text.size()), failure, {}, options);
  if (failure) return std::nullopt;
  return value;
}

bool is_utf8(std::string_view text) {
  return read_json(json::serialize(json::string(text.data(), text.size()))).has_value();
}

void check_refusal(const Error& error) {
  require(http_status(error.code) >= 400 && http_status(error.code) < 500);
  const auto body = read_json(api::openai_error(error));
  require(body && body->is_object());
  const json::object& fields = body->at("error").as_object();
  require(fields.at("type").is_string() && fields.at("code").is_string());
  const json::string& message = fields.at("message").as_string();
  require(!message.empty());
  const json::value& param = fields.at("param");
  if (param.is_string()) require(message.starts_with("'" + std::string(param.as_string()) + "'"));
}

bool within(float value, float low, float high) {
  return value >= low && value <= high;  // false for NaN
}

void check_generation(const api::Generation& g) {
  const api::Sampling& s = g.sampling;
  require(within(s.temperature, 0, 2) && within(s.min_p, 0, 1) && s.top_p > 0 && s.top_p <= 1 && s.top_k >= 0);
  require(within(s.frequency_penalty, -2, 2) && within(s.presence_penalty, -2, 2));
  require(within(s.repetition_penalty, 0.01F, 100));
  for (const auto& [token, bias] : s.logit_bias) require(token >= 0 && within(bias, -100, 100));
  require(g.n >= 1 && g.n <= 256 && g.top_logprobs >= -1 && g.top_logprobs <= 20 && g.min_tokens >= 0);
  require(!g.max_tokens || (*g.max_tokens >= 0 && g.min_tokens <= *g.max_tokens));
  require(g.stop.size() <= 16 && g.stop_token_ids.size() <= 1024);
  for (const std::string& stop : g.stop) require(!stop.empty() && is_utf8(stop));
  for (const int32_t id : g.stop_token_ids) require(id >= 0);
  require(is_utf8(g.model));
}

void check_chat(const api::ChatRequest& chat) {
  require(!chat.messages.empty());
  for (const api::Message& message : chat.messages) {
    require(message.role == "system" || message.role == "user" || message.role == "assistant" ||
            message.role == "tool");
    require(message.content || message.role == "assistant");
    require(is_utf8(message.content.value_or("")) && is_utf8(message.name) && is_utf8(message.reasoning));
    for (const api::ToolCall& call : message.tool_calls) require(!call.name.empty() && is_utf8(call.arguments_json));
  }
  require(chat.tools_json.empty() || read_json(chat.tools_json)->is_array());
  if (chat.template_kwargs_json.empty()) return;
  const auto variables = read_json(chat.template_kwargs_json);
  for (const char* reserved : {"messages", "tools", "bos_token", "eos_token", "unk_token", "pad_token"}) {
    require(!variables->as_object().contains(reserved));
  }
}

void check_completion(const api::CompletionRequest& completion) {
  require(!completion.prompts.empty());
  for (const api::Prompt& prompt : completion.prompts) {
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      require(is_utf8(*text));
    } else {
      for (const int32_t id : std::get<std::vector<int32_t>>(prompt)) require(id >= 0);
    }
  }
}

// Everything that was read, or the refusal.
std::string described(const Result<api::OpenAiRequest>& parsed) {
  if (!parsed.ok()) return parsed.error().message;
  const api::Generation& g = api::generation(parsed->request);
  const api::Sampling& s = g.sampling;
  std::string out =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} ", g.model, g.n, g.max_tokens.value_or(-1),
                  g.min_tokens, g.ignore_eos, g.top_logprobs, s.temperature, s.top_k, s.top_p, s.min_p,
                  s.repetition_penalty, s.frequency_penalty, s.presence_penalty, s.seed.value_or(0), s.seed.has_value(),
                  parsed->stream, parsed->include_usage, s.logit_bias.size(), g.stop_token_ids.size());
  for (const std::string& stop : g.stop) out += stop + ";";
  if (const auto* chat = std::get_if<api::ChatRequest>(&parsed->request)) {
    for (const api::Message& m : chat->messages) {
      out += m.role + "|" + m.content.value_or("(none)") + "|" + m.reasoning + "|" + m.name + "|" + m.tool_call_id;
      for (const api::ToolCall& call : m.tool_calls) out += call.id + call.name + call.arguments_json;
    }
    return out + chat->tools_json + chat->template_kwargs_json + (chat->add_generation_prompt ? "+" : "-");
  }
  for (const api::Prompt& prompt : std::get<api::CompletionRequest>(parsed->request).prompts) {
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      out += *text + ";";
    } else {
      out += fmt::format("{};", fmt::join(std::get<std::vector<int32_t>>(prompt), ","));
    }
  }
  return out;
}

void check(Parse parse, std::string_view body) {
  const auto parsed = parse(body);
  if (!parsed.ok()) {
    check_refusal(parsed.error());
  } else {
    check_generation(api::generation(parsed->request));
    require(api::num_choices(parsed->request) >= 1 && api::num_choices(parsed->request) <= 256);
    if (const auto* chat = std::get_if<api::ChatRequest>(&parsed->request)) check_chat(*chat);
    if (const auto* completion = std::get_if<api::CompletionRequest>(&parsed->request)) check_completion(*completion);
  }
  const auto value = read_json(body);
  if (!value) return require(!parsed.ok());
  const std::string respelled = json::serialize(*value);
  // Boost's numbers may lose their last bit on the first way there and back.
  if (const auto again = read_json(respelled); !again || json::serialize(*again) != respelled) return;
  require(described(parse(respelled)) == described(parsed));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check(api::parse_openai_chat, body);
  check(api::parse_openai_completion, body);
  return 0;
}
