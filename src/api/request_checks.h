// What every native request keeps to, whoever wrote its body: for the fuzz targets of the dialects' parsers.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "api/dialect.h"
#include "api/request.h"
#include "base/result.h"

namespace brio::api::checks {

namespace json = boost::json;

inline void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

inline std::optional<json::value> read_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = 128;
  json::error_code failure;
  json::value value = json::parse(json::string_view(text.data(), text.size()), failure, {}, options);
  if (failure) return std::nullopt;
  return value;
}

inline bool is_utf8(std::string_view text) {
  return read_json(json::serialize(json::string(text.data(), text.size()))).has_value();
}

inline bool within(float value, float low, float high) {
  return value >= low && value <= high;  // false for NaN
}

inline void check_generation(const api::Generation& g) {
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

inline void check_chat(const api::ChatRequest& chat) {
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

inline void check_completion(const api::CompletionRequest& completion) {
  require(!completion.prompts.empty());
  for (const api::Prompt& prompt : completion.prompts) {
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      require(is_utf8(*text));
    } else {
      for (const int32_t id : std::get<std::vector<int32_t>>(prompt)) require(id >= 0);
    }
  }
}

// Everything that was read.
inline std::string described(const api::Request& request) {
  const api::Generation& g = api::generation(request);
  const api::Sampling& s = g.sampling;
  std::string out =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} ", g.model, g.n, g.max_tokens.value_or(-1),
                  g.min_tokens, g.ignore_eos, g.top_logprobs, s.temperature, s.top_k, s.top_p, s.min_p,
                  s.repetition_penalty, s.frequency_penalty, s.presence_penalty, s.seed.value_or(0), s.seed.has_value(),
                  g.cut_to_context, s.logit_bias.size(), g.stop_token_ids.size());
  for (const std::string& stop : g.stop) out += stop + ";";
  if (const auto* chat = std::get_if<api::ChatRequest>(&request)) {
    for (const api::Message& m : chat->messages) {
      out += m.role + "|" + m.content.value_or("(none)") + "|" + m.reasoning + "|" + m.name + "|" + m.tool_call_id;
      for (const api::ToolCall& call : m.tool_calls) out += call.id + call.name + call.arguments_json;
    }
    return out + chat->tools_json + chat->template_kwargs_json + (chat->add_generation_prompt ? "+" : "-");
  }
  for (const api::Prompt& prompt : std::get<api::CompletionRequest>(request).prompts) {
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      out += *text + ";";
    } else {
      out += fmt::format("{};", fmt::join(std::get<std::vector<int32_t>>(prompt), ","));
    }
  }
  return out;
}

// A refusal is a 4xx with a message; its body is JSON with the dialect's error.
inline json::value check_refusal(const Dialect& dialect, const Error& error) {
  require(http_status(error.code) >= 400 && http_status(error.code) < 500 && !error.message.empty());
  const auto body = read_json(dialect.error_body(error, "id"));
  require(body && body->is_object() && body->get_object().contains("error"));
  return *body;
}

inline void check_request(const Request& request) {
  check_generation(generation(request));
  require(num_choices(request) >= 1 && num_choices(request) <= 256);
  if (const auto* chat = std::get_if<ChatRequest>(&request)) check_chat(*chat);
  if (const auto* completion = std::get_if<CompletionRequest>(&request)) check_completion(*completion);
}

// The body in another spelling (escapes, spaces, number formats) where that is the same text again; a body that is no
// JSON has none and may not have been accepted.
inline std::optional<std::string> respelled(std::string_view body, bool accepted) {
  const auto value = read_json(body);
  if (!value) {
    require(!accepted);
    return std::nullopt;
  }
  std::string out = json::serialize(*value);
  // Boost's numbers may lose their last bit on the way there and back, and what is no number (0e999) becomes null.
  if (read_json(out) != value) return std::nullopt;
  return out;
}

}  // namespace brio::api::checks
