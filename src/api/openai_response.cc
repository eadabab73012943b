#include "api/openai_response.h"

#include <fmt/format.h>

#include <iterator>

#include "api/json_text.h"

namespace brio::api {
namespace {

std::string number(float value) {
  std::string out;
  append_json_number(out, value);
  return out;
}

std::string_view finish_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kLength:
      return "length";
    case FinishReason::kToolCalls:
      return "tool_calls";
    case FinishReason::kStop:
      break;
  }
  return "stop";
}

std::string head(const OpenAiShape& shape, std::string_view object) {
  return fmt::format(R"({{"id":{},"object":"{}","created":{},"model":{},"system_fingerprint":{},)",
                     json_string(shape.id), object, shape.created, json_string(shape.model),
                     json_string(shape.fingerprint));
}

std::string usage_json(const Usage& usage) {
  return fmt::format(
      R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{},)"
      R"("prompt_tokens_details":{{"cached_tokens":{}}},"completion_tokens_details":{{"reasoning_tokens":{}}}}})",
      usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens + usage.completion_tokens, usage.cached_tokens,
      usage.reasoning_tokens);
}

std::string timings_json(const Timings& timings) {
  return fmt::format(R"({{"queue_ms":{:.3f},"ttft_ms":{:.3f},"tpot_ms":{:.3f},"total_ms":{:.3f}}})", timings.queue_ms,
                     timings.ttft_ms, timings.tpot_ms, timings.total_ms);
}

// ---- logprobs ----

std::string bytes_json(std::string_view bytes) {
  std::string out = "[";
  for (char c : bytes) {
    fmt::format_to(std::back_inserter(out), "{}{}", out.size() > 1 ? "," : "", static_cast<unsigned char>(c));
  }
  return out + "]";
}

std::string chat_token(const TokenLogprob& token) {
  return fmt::format(R"("token":{},"logprob":{},"bytes":{})", json_string(token.bytes), number(token.logprob),
                     bytes_json(token.bytes));
}

std::string chat_logprobs(std::span<const PositionLogprobs> positions) {
  std::string out = R"({"content":[)";
  for (size_t i = 0; i < positions.size(); ++i) {
    fmt::format_to(std::back_inserter(out), R"({}{{{},"top_logprobs":[)", i > 0 ? "," : "",
                   chat_token(positions[i].chosen));
    for (size_t k = 0; k < positions[i].top.size(); ++k) {
      fmt::format_to(std::back_inserter(out), "{}{{{}}}", k > 0 ? "," : "", chat_token(positions[i].top[k]));
    }
    out += "]}";
  }
  return out + R"(],"refusal":null})";
}

// A token's text in the completions format, which has no bytes field: parts of characters are spelled out.
std::string token_text(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string out = "bytes:";
  for (char c : bytes) fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string top_object(const PositionLogprobs& position) {
  if (!position.known) return "null";
  std::string out = "{";
  const auto add = [&](const TokenLogprob& token) {
    fmt::format_to(std::back_inserter(out), "{}{}:{}", out.size() > 1 ? "," : "", json_string(token_text(token.bytes)),
                   number(token.logprob));
  };
  bool has_chosen = false;
  for (const TokenLogprob& token : position.top) {
    add(token);
    has_chosen = has_chosen || token.id == position.chosen.id;
  }
  if (!has_chosen) add(position.chosen);
  return out + "}";
}

// offset: characters of the choice's text before the first of these tokens; moved past them.
std::string completion_logprobs(std::span<const PositionLogprobs> positions, int& offset) {
  std::string tokens;
  std::string logprobs;
  std::string top;
  std::string offsets;
  for (const PositionLogprobs& position : positions) {
    const char* comma = tokens.empty() ? "" : ",";
    tokens.append(comma).append(json_string(token_text(position.chosen.bytes)));
    logprobs.append(comma).append(position.known ? number(position.chosen.logprob) : "null");
    top.append(comma).append(top_object(position));
    offsets.append(comma).append(std::to_string(offset));
    if (position.in_text) offset += count_characters(position.chosen.bytes);
  }
  return fmt::format(R"({{"tokens":[{}],"token_logprobs":[{}],"top_logprobs":[{}],"text_offset":[{}]}})", tokens,
                     logprobs, top, offsets);
}

std::string logprobs_json(const OpenAiShape& shape, std::span<const PositionLogprobs> positions, int& offset) {
  if (!shape.logprobs) return "null";
  return shape.kind == OpenAiKind::kChat ? chat_logprobs(positions) : completion_logprobs(positions, offset);
}

// ,"finish_reason":...,"stop_reason":...
std::string ending(const Finish& finish) {
  return fmt::format(R"(,"finish_reason":"{}","stop_reason":{})", finish_name(finish.reason),
                     finish.matched_stop.empty() ? "null" : json_string(finish.matched_stop));
}

// ---- what a chat choice says ----

std::string call_start(const ToolCallDelta& call) {
  return fmt::format(R"("id":{},"type":"function","function":{{"name":{},"arguments":{}}})", json_string(call.id),
                     json_string(call.name), json_string(call.arguments));
}

// The value of "delta" in a chat chunk.
std::string chat_delta(const Delta& delta) {
  if (delta.tool_call) {
    const ToolCallDelta& call = *delta.tool_call;
    const std::string rest = call.name.empty()
                                 ? fmt::format(R"("function":{{"arguments":{}}})", json_string(call.arguments))
                                 : call_start(call);
    return fmt::format(R"({{"tool_calls":[{{"index":{},{}}}]}})", call.index, rest);
  }
  if (!delta.reasoning.empty()) return fmt::format(R"({{"reasoning_content":{}}})", json_string(delta.reasoning));
  return fmt::format(R"({{"content":{}}})", json_string(delta.text));
}

bool says_something(const Delta& delta) {
  return delta.tool_call || !delta.reasoning.empty() || !delta.text.empty();
}

}  // namespace

// ---- streams ----

OpenAiStream::OpenAiStream(OpenAiShape shape)
    : shape_(std::move(shape)),
      head_(head(shape_, shape_.kind == OpenAiKind::kChat ? "chat.completion.chunk" : "text_completion")),
      text_offsets_(static_cast<size_t>(shape_.num_choices), 0) {}

std::string OpenAiStream::chunk(std::string_view choices, std::string_view more) const {
  const std::string_view no_usage = shape_.include_usage && more.empty() ? R"(,"usage":null)" : "";
  return fmt::format(R"({}"choices":[{}]{}{}}})", head_, choices, no_usage, more);
}

void OpenAiStream::write(const Event& event, std::vector<std::string>& payloads) {
  if (std::holds_alternative<Started>(event)) {
    if (shape_.kind != OpenAiKind::kChat) return;
    for (int i = 0; i < shape_.num_choices; ++i) {
      payloads.push_back(chunk(fmt::format(
          R"({{"index":{},"delta":{{"role":"assistant","content":""}},"logprobs":null,"finish_reason":null}})", i)));
    }
  } else if (const auto* delta = std::get_if<Delta>(&event)) {
    write_delta(*delta, payloads);
  } else if (const auto* finish = std::get_if<Finish>(&event)) {
    release_finish(payloads);
    const std::string_view empty = shape_.kind == OpenAiKind::kChat ? R"("delta":{})" : R"("text":"")";
    finish_ = fmt::format(R"({{"index":{},{},"logprobs":null{}}})", finish->choice, empty, ending(*finish));
  } else if (const auto* done = std::get_if<Done>(&event)) {
    write_done(*done, payloads);
  } else if (const auto* failed = std::get_if<Failed>(&event)) {
    release_finish(payloads);
    payloads.push_back(openai_error(failed->error));
  }
}

void OpenAiStream::write_delta(const Delta& delta, std::vector<std::string>& payloads) {
  if (!says_something(delta) && (!shape_.logprobs || delta.logprobs.empty())) return;
  release_finish(payloads);
  const std::string logprobs = logprobs_json(shape_, delta.logprobs, text_offsets_[static_cast<size_t>(delta.choice)]);
  payloads.push_back(chunk(shape_.kind == OpenAiKind::kChat
                               ? fmt::format(R"({{"index":{},"delta":{},"logprobs":{},"finish_reason":null}})",
                                             delta.choice, chat_delta(delta), logprobs)
                               : fmt::format(R"({{"index":{},"text":{},"logprobs":{},"finish_reason":null}})",
                                             delta.choice, json_string(delta.text), logprobs)));
}

void OpenAiStream::write_done(const Done& done, std::vector<std::string>& payloads) {
  const std::string timings = fmt::format(R"(,"timings":{})", timings_json(done.timings));
  if (shape_.include_usage) {
    release_finish(payloads);
    payloads.push_back(chunk("", fmt::format(R"(,"usage":{}{})", usage_json(done.usage), timings)));
  } else {
    release_finish(payloads, timings);
  }
  payloads.emplace_back("[DONE]");
}

void OpenAiStream::release_finish(std::vector<std::string>& payloads, std::string_view more) {
  if (finish_) payloads.push_back(chunk(*finish_, more));
  finish_.reset();
}

// ---- whole answers ----

OpenAiFold::OpenAiFold(OpenAiShape shape)
    : shape_(std::move(shape)), choices_(static_cast<size_t>(shape_.num_choices)) {}

void OpenAiFold::add(const Event& event) {
  if (const auto* delta = std::get_if<Delta>(&event)) {
    Choice& choice = choices_[static_cast<size_t>(delta->choice)];
    choice.text += delta->text;
    choice.reasoning += delta->reasoning;
    if (delta->tool_call) add_call(choice, *delta->tool_call);
    choice.logprobs.insert(choice.logprobs.end(), delta->logprobs.begin(), delta->logprobs.end());
  } else if (const auto* finish = std::get_if<Finish>(&event)) {
    choices_[static_cast<size_t>(finish->choice)].finish = *finish;
  } else if (const auto* done = std::get_if<Done>(&event)) {
    done_ = *done;
  }
}

void OpenAiFold::add_call(Choice& choice, const ToolCallDelta& piece) {
  if (!piece.name.empty()) {
    choice.calls.push_back(piece);
  } else if (!choice.calls.empty()) {
    choice.calls.back().arguments += piece.arguments;
  }
}

std::string OpenAiFold::message(const Choice& choice) {
  const bool calls_alone = choice.text.empty() && !choice.calls.empty();
  std::string out = fmt::format(R"({{"role":"assistant","content":{},"refusal":null)",
                                calls_alone ? "null" : json_string(choice.text));
  if (!choice.reasoning.empty()) {
    fmt::format_to(std::back_inserter(out), R"(,"reasoning_content":{})", json_string(choice.reasoning));
  }
  if (!choice.calls.empty()) {
    out += R"(,"tool_calls":[)";
    for (size_t i = 0; i < choice.calls.size(); ++i) {
      fmt::format_to(std::back_inserter(out), "{}{{{}}}", i > 0 ? "," : "", call_start(choice.calls[i]));
    }
    out += "]";
  }
  return out + "}";
}

std::string OpenAiFold::json() const {
  const bool chat = shape_.kind == OpenAiKind::kChat;
  std::string out = head(shape_, chat ? "chat.completion" : "text_completion") + R"("choices":[)";
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Choice& choice = choices_[i];
    int offset = 0;
    const std::string content =
        chat ? fmt::format(R"("message":{})", message(choice)) : fmt::format(R"("text":{})", json_string(choice.text));
    fmt::format_to(std::back_inserter(out), R"({}{{"index":{},{},"logprobs":{}{}}})", i > 0 ? "," : "", i, content,
                   logprobs_json(shape_, choice.logprobs, offset), ending(choice.finish));
  }
  fmt::format_to(std::back_inserter(out), R"(],"usage":{},"timings":{}}})", usage_json(done_.usage),
                 timings_json(done_.timings));
  return out;
}

// ---- errors and models ----

namespace {

struct ErrorShape {
  std::string_view type;
  std::string_view code;  // empty: null
};

ErrorShape shape_of(int status) {
  switch (status) {
    case 401:
      return {"authentication_error", ""};
    case 403:
      return {"permission_error", ""};
    case 404:
      return {"invalid_request_error", "not_found"};
    case 405:
      return {"invalid_request_error", "method_not_allowed"};
    case 408:
      return {"invalid_request_error", "request_timeout"};
    case 413:
      return {"invalid_request_error", "request_too_large"};
    case 429:
      return {"rate_limit_error", "overloaded"};
    case 503:
      return {"service_unavailable_error", "unavailable"};
    default:
      return {status < 500 ? "invalid_request_error" : "server_error", ""};
  }
}

// The name in quotes that a message opens with.
std::string_view field_of(std::string_view message) {
  if (!message.starts_with('\'')) return {};
  const size_t end = message.find('\'', 1);
  return end == std::string_view::npos ? std::string_view{} : message.substr(1, end - 1);
}

std::string error_body(const ErrorShape& shape, std::string_view message, std::string_view param) {
  return fmt::format(R"({{"error":{{"message":{},"type":"{}","param":{},"code":{}}}}})", json_string(message),
                     shape.type, param.empty() ? "null" : json_string(param),
                     shape.code.empty() ? "null" : json_string(shape.code));
}

}  // namespace

std::string openai_error(const Error& error) {
  ErrorShape shape = shape_of(http_status(error.code));
  const std::string_view param = http_status(error.code) < 500 ? field_of(error.message) : std::string_view{};
  if (shape.code.empty()) shape.code = name(error.code);
  if (error.code == ErrorCode::kNotFound && param == "model") shape.code = "model_not_found";
  const std::string message = error.hint.empty() ? error.message : fmt::format("{}. {}", error.message, error.hint);
  return error_body(shape, message, param);
}

std::string openai_error(int status, std::string_view message) {
  return error_body(shape_of(status), message, {});
}

std::string openai_model(const ModelInfo& model) {
  return fmt::format(
      R"({{"id":{},"object":"model","created":{},"owned_by":"brio","context_length":{},"max_model_len":{},"chat":{}}})",
      json_string(model.id), model.created, model.context, model.context, model.chat);
}

std::string openai_models(std::span<const ModelInfo> models) {
  std::string out = R"({"object":"list","data":[)";
  for (size_t i = 0; i < models.size(); ++i) out.append(i > 0 ? "," : "").append(openai_model(models[i]));
  return out + "]}";
}

}  // namespace brio::api
