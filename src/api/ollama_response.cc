#include "api/ollama_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/json_text.h"
#include "api/timestamp.h"

namespace brio::api {
namespace {

// Milliseconds to whole nanoseconds; at least one, since clients divide by them.
int64_t nanoseconds(double milliseconds) {
  return std::max<int64_t>(1, static_cast<int64_t>(milliseconds * 1e6));
}

// {"model":...,"created_at":...,
std::string head(const OllamaShape& shape) {
  return fmt::format(R"({{"model":{},"created_at":"{}",)", json_string(shape.model), rfc3339(shape.created));
}

// What an answer says, or a piece of one.
struct Content {
  std::string text;
  std::string thinking;
  std::vector<ToolCallDelta> calls;  // whole ones

  bool empty() const { return text.empty() && thinking.empty() && calls.empty(); }
};

std::string calls_json(const std::vector<ToolCallDelta>& calls) {
  if (calls.empty()) return {};
  std::string out;
  for (const ToolCallDelta& call : calls) {
    fmt::format_to(std::back_inserter(out), R"({}{{"function":{{"index":{},"name":{},"arguments":{}}}}})",
                   out.empty() ? "" : ",", call.index, json_string(call.name), object_or_empty(call.arguments));
  }
  return fmt::format(R"(,"tool_calls":[{}])", out);
}

// Where the kind of answer has it.
std::string content_json(const OllamaShape& shape, const Content& content) {
  const std::string thinking =
      content.thinking.empty() ? "" : fmt::format(R"(,"thinking":{})", json_string(content.thinking));
  if (shape.kind == OllamaKind::kGenerate) {
    return fmt::format(R"("response":{}{})", json_string(content.text), thinking);
  }
  return fmt::format(R"("message":{{"role":"assistant","content":{}{}{}}})", json_string(content.text), thinking,
                     calls_json(content.calls));
}

// Gathers a call's pieces: Ollama's clients get whole calls.
void add_call(std::vector<ToolCallDelta>& calls, const ToolCallDelta& piece) {
  if (calls.empty() || calls.back().index != piece.index) return calls.push_back(piece);
  calls.back().arguments += piece.arguments;
}

std::string token_json(const TokenLogprob& token) {
  std::string bytes;
  for (const char c : token.bytes) {
    fmt::format_to(std::back_inserter(bytes), "{}{}", bytes.empty() ? "" : ",", static_cast<unsigned char>(c));
  }
  std::string logprob;
  append_json_number(logprob, token.logprob);
  return fmt::format(R"("token":{},"logprob":{},"bytes":[{}])", json_string(token.bytes), logprob, bytes);
}

// ,"logprobs":[...] or nothing
std::string logprobs_json(const OllamaShape& shape, std::span<const PositionLogprobs> positions) {
  if (!shape.logprobs || positions.empty()) return {};
  std::string out = R"(,"logprobs":[)";
  for (size_t i = 0; i < positions.size(); ++i) {
    out.append(i > 0 ? ",{" : "{").append(token_json(positions[i].chosen));
    if (!positions[i].top.empty()) out += R"(,"top_logprobs":[)";
    for (size_t k = 0; k < positions[i].top.size(); ++k) {
      out.append(k > 0 ? ",{" : "{").append(token_json(positions[i].top[k])).append("}");
    }
    out += positions[i].top.empty() ? "}" : "]}";
  }
  return out + "]";
}

// ,"done":true and what follows it
std::string end_json(const Finish& finish, const Done& done) {
  const Timings& timings = done.timings;
  return fmt::format(R"(,"done":true,"done_reason":"{}","total_duration":{},"load_duration":0,"prompt_eval_count":{},)"
                     R"("prompt_eval_duration":{},"eval_count":{},"eval_duration":{}}})",
                     finish.reason == FinishReason::kLength ? "length" : "stop", nanoseconds(timings.total_ms),
                     done.usage.prompt_tokens, nanoseconds(timings.ttft_ms - timings.queue_ms),
                     done.usage.completion_tokens, nanoseconds(timings.total_ms - timings.ttft_ms));
}

class Stream final : public StreamWriter {
 public:
  explicit Stream(OllamaShape shape) : shape_(std::move(shape)), head_(head(shape_)) {}
  void write(const Event& event, std::vector<Frame>& frames) override {
    if (const auto* delta = std::get_if<Delta>(&event)) {
      if (delta->tool_call) add_call(calls_, *delta->tool_call);
      write({delta->text, delta->reasoning, {}}, delta->logprobs, frames);
    } else if (const auto* finish = std::get_if<Finish>(&event)) {
      finish_ = *finish;
      write({{}, {}, std::exchange(calls_, {})}, {}, frames);
    } else if (const auto* done = std::get_if<Done>(&event)) {
      frames.push_back({head_ + content_json(shape_, {}) + end_json(finish_, *done), {}});
    } else if (const auto* failed = std::get_if<Failed>(&event)) {
      frames.push_back({kOllama.error_body(failed->error, ""), {}});
    }
  }

 private:
  void write(const Content& content, std::span<const PositionLogprobs> positions, std::vector<Frame>& frames) const {
    const std::string logprobs = logprobs_json(shape_, positions);
    if (content.empty() && logprobs.empty()) return;
    frames.push_back({fmt::format(R"({}{},"done":false{}}})", head_, content_json(shape_, content), logprobs), {}});
  }

  OllamaShape shape_;
  std::string head_;
  std::vector<ToolCallDelta> calls_;  // of the answer so far, the last one maybe unfinished
  Finish finish_;
};

class Fold final : public AnswerFold {
 public:
  explicit Fold(OllamaShape shape) : shape_(std::move(shape)) {}
  void add(const Event& event) override {
    if (const auto* delta = std::get_if<Delta>(&event)) {
      content_.text += delta->text;
      content_.thinking += delta->reasoning;
      if (delta->tool_call) add_call(content_.calls, *delta->tool_call);
      logprobs_.insert(logprobs_.end(), delta->logprobs.begin(), delta->logprobs.end());
    } else if (const auto* finish = std::get_if<Finish>(&event)) {
      finish_ = *finish;
    } else if (const auto* done = std::get_if<Done>(&event)) {
      done_ = *done;
    }
  }
  std::string json() const override {
    return head(shape_) + content_json(shape_, content_) + logprobs_json(shape_, logprobs_) + end_json(finish_, done_);
  }

 private:
  OllamaShape shape_;
  Content content_;
  std::vector<PositionLogprobs> logprobs_;
  Finish finish_;
  Done done_;
};

std::string error_json(std::string_view message) {
  return fmt::format(R"({{"error":{}}})", json_string(message));
}

}  // namespace

std::unique_ptr<StreamWriter> ollama_stream(OllamaShape shape) {
  return std::make_unique<Stream>(std::move(shape));
}

std::unique_ptr<AnswerFold> ollama_fold(OllamaShape shape) {
  return std::make_unique<Fold>(std::move(shape));
}

std::string ollama_loaded(const OllamaShape& shape) {
  return head(shape) + content_json(shape, {}) + R"(,"done":true,"done_reason":"load"})";
}

const Dialect kOllama = {
    "ollama", Framing::kJsonLines, "x-request-id",
    [](const Error& error, std::string_view /*request_id*/) { return error_json(whole_message(error)); },
    [](int /*status*/, std::string_view message, std::string_view /*request_id*/) { return error_json(message); }};

}  // namespace brio::api
