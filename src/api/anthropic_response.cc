#include "api/anthropic_response.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "api/json_text.h"
#include "api/timestamp.h"

namespace brio::api {
namespace {

std::string usage_json(const Usage& usage) {
  return fmt::format(
      R"({{"input_tokens":{},"cache_creation_input_tokens":0,"cache_read_input_tokens":{},"output_tokens":{}}})",
      usage.prompt_tokens - usage.cached_tokens, usage.cached_tokens, usage.completion_tokens);
}

// "stop_reason":...,"stop_sequence":...
std::string stop_json(const AnthropicShape& shape, const Finish& finish, const Usage& usage) {
  if (!finish.matched_stop.empty()) {
    return fmt::format(R"("stop_reason":"stop_sequence","stop_sequence":{})", json_string(finish.matched_stop));
  }
  std::string_view reason = finish.reason == FinishReason::kToolCalls ? "tool_use" : "end_turn";
  if (finish.reason == FinishReason::kLength) {
    reason = usage.completion_tokens < shape.max_tokens ? "model_context_window_exceeded" : "max_tokens";
  }
  return fmt::format(R"("stop_reason":"{}","stop_sequence":null)", reason);
}

std::string message_json(const AnthropicShape& shape, std::string_view content, std::string_view stop,
                         const Usage& usage) {
  return fmt::format(R"({{"id":{},"type":"message","role":"assistant","model":{},"content":[{}],{},"usage":{}}})",
                     json_string(shape.id), json_string(shape.model), content, stop, usage_json(usage));
}

Frame frame(std::string_view name, std::string_view more) {
  return {fmt::format(R"({{"type":"{}"{}{}}})", name, more.empty() ? "" : ",", more), name};
}

bool has_content(const Delta& delta) {
  return !delta.text.empty() || !delta.reasoning.empty() || delta.tool_call.has_value();
}

// A content block: text, thinking or one tool call.
class Block {
 public:
  // The block that begins with this delta, without its content yet.
  explicit Block(const Delta& delta) : thinks_(!delta.reasoning.empty()) {
    call_.index = delta.tool_call ? delta.tool_call->index : -1;
    if (!delta.tool_call) return;
    call_.id = delta.tool_call->id;
    call_.name = delta.tool_call->name;
  }

  // Whether a delta goes on with this block.
  bool takes(const Delta& delta) const {
    return thinks_ == !delta.reasoning.empty() && call_.index == (delta.tool_call ? delta.tool_call->index : -1);
  }
  void add(const Delta& delta) {
    text_ += thinks_ ? delta.reasoning : delta.text;
    if (delta.tool_call) call_.arguments += delta.tool_call->arguments;
  }

  std::string json() const {
    if (call_.index >= 0) {
      return fmt::format(R"({{"type":"tool_use","id":{},"name":{},"input":{}}})", json_string(call_.id),
                         json_string(call_.name), object_or_empty(call_.arguments));
    }
    if (!thinks_) return fmt::format(R"({{"type":"text","text":{}}})", json_string(text_));
    return fmt::format(R"({{"type":"thinking","thinking":{},"signature":""}})", json_string(text_));
  }
  // Empty for the beginning of a call.
  static std::string delta_json(const Delta& delta) {
    if (!delta.tool_call) {
      return delta.reasoning.empty()
                 ? fmt::format(R"({{"type":"text_delta","text":{}}})", json_string(delta.text))
                 : fmt::format(R"({{"type":"thinking_delta","thinking":{}}})", json_string(delta.reasoning));
    }
    if (delta.tool_call->arguments.empty()) return {};
    return fmt::format(R"({{"type":"input_json_delta","partial_json":{}}})", json_string(delta.tool_call->arguments));
  }

 private:
  bool thinks_ = false;
  ToolCallDelta call_;  // index -1: none
  std::string text_;
};

// Content blocks come one after the other: one is open from its first delta to the next block or the end.
class Stream final : public StreamWriter {
 public:
  explicit Stream(AnthropicShape shape) : shape_(std::move(shape)) {}

  void write(const Event& event, std::vector<Frame>& frames) override {
    if (const auto* started = std::get_if<Started>(&event)) {
      Usage usage;
      usage.prompt_tokens = started->prompt_tokens;
      usage.cached_tokens = started->cached_tokens;
      constexpr std::string_view kNoStop = R"("stop_reason":null,"stop_sequence":null)";
      frames.push_back(
          frame("message_start", fmt::format(R"("message":{})", message_json(shape_, "", kNoStop, usage))));
    } else if (const auto* delta = std::get_if<Delta>(&event)) {
      write_delta(*delta, frames);
    } else if (const auto* finish = std::get_if<Finish>(&event)) {
      close_block(frames);
      finish_ = *finish;
    } else if (const auto* done = std::get_if<Done>(&event)) {
      frames.push_back(
          frame("message_delta", fmt::format(R"("delta":{{{}}},"usage":{})", stop_json(shape_, finish_, done->usage),
                                             usage_json(done->usage))));
      frames.push_back(frame("message_stop", ""));
    } else if (const auto* failed = std::get_if<Failed>(&event)) {
      frames.push_back({kAnthropic.error_body(failed->error, ""), "error"});
    }
  }

  std::optional<Frame> keep_alive() override { return frame("ping", ""); }

 private:
  void write_delta(const Delta& delta, std::vector<Frame>& frames) {
    if (!has_content(delta)) return;
    if (!open_ || !open_->takes(delta)) {
      close_block(frames);
      open_.emplace(delta);
      frames.push_back(
          frame("content_block_start", fmt::format(R"("index":{},"content_block":{})", index_, open_->json())));
    }
    const std::string more = Block::delta_json(delta);
    if (more.empty()) return;
    frames.push_back(frame("content_block_delta", fmt::format(R"("index":{},"delta":{})", index_, more)));
  }
  void close_block(std::vector<Frame>& frames) {
    if (!open_) return;
    open_.reset();
    frames.push_back(frame("content_block_stop", fmt::format(R"("index":{})", index_)));
    ++index_;
  }

  AnthropicShape shape_;
  int index_ = 0;  // of the open block, or of the next
  std::optional<Block> open_;
  Finish finish_;
};

class Fold final : public AnswerFold {
 public:
  explicit Fold(AnthropicShape shape) : shape_(std::move(shape)) {}
  void add(const Event& event) override {
    if (const auto* delta = std::get_if<Delta>(&event)) {
      if (!has_content(*delta)) return;
      if (blocks_.empty() || !blocks_.back().takes(*delta)) blocks_.emplace_back(*delta);
      blocks_.back().add(*delta);
    } else if (const auto* finish = std::get_if<Finish>(&event)) {
      finish_ = *finish;
    } else if (const auto* done = std::get_if<Done>(&event)) {
      usage_ = done->usage;
    }
  }
  std::string json() const override {
    std::string content;
    for (const Block& block : blocks_) content.append(content.empty() ? "" : ",").append(block.json());
    return message_json(shape_, content, stop_json(shape_, finish_, usage_), usage_);
  }

 private:
  AnthropicShape shape_;
  std::vector<Block> blocks_;
  Finish finish_;
  Usage usage_;
};

std::string_view error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 408:
    case 504:
      return "timeout_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

std::unique_ptr<StreamWriter> anthropic_stream(AnthropicShape shape) {
  return std::make_unique<Stream>(std::move(shape));
}

std::unique_ptr<AnswerFold> anthropic_fold(AnthropicShape shape) {
  return std::make_unique<Fold>(std::move(shape));
}

std::string anthropic_error(int status, std::string_view message, std::string_view request_id) {
  return fmt::format(R"({{"type":"error","error":{{"type":"{}","message":{}}},"request_id":{}}})", error_type(status),
                     json_string(message), request_id.empty() ? "null" : json_string(request_id));
}

std::string anthropic_model(const ModelInfo& model) {
  return fmt::format(R"({{"type":"model","id":{0},"display_name":{0},"created_at":"{1}","lifecycle":"active",)"
                     R"("max_input_tokens":{2},"max_tokens":{2}}})",
                     json_string(model.id), rfc3339(model.created), model.context);
}

std::string anthropic_models(std::span<const ModelInfo> models) {
  std::string out = R"({"data":[)";
  for (size_t i = 0; i < models.size(); ++i) out.append(i > 0 ? "," : "").append(anthropic_model(models[i]));
  const auto id = [](const ModelInfo& model) { return json_string(model.id); };
  fmt::format_to(std::back_inserter(out), R"(],"has_more":false,"first_id":{},"last_id":{}}})",
                 models.empty() ? "null" : id(models.front()), models.empty() ? "null" : id(models.back()));
  return out;
}

std::string anthropic_token_count(size_t tokens) {
  return fmt::format(R"({{"input_tokens":{}}})", tokens);
}

const Dialect kAnthropic = {"anthropic", Framing::kServerSentEvents, "request-id",
                            [](const Error& error, std::string_view request_id) {
                              return anthropic_error(http_status(error.code), whole_message(error), request_id);
                            },
                            anthropic_error};

}  // namespace brio::api
