// OpenAI's answers, written from native events: a stream writes each event, a whole response folds the same events.
//
//   OpenAiStream stream(shape);
//   for each event: stream.write(event, payloads);      // JSON payloads for server-sent events, at last "[DONE]"
//
//   OpenAiFold fold(shape);
//   for each event: fold.add(event);                    // until it was Done or Failed
//   body = fold.json();
//
// Beyond OpenAI's fields: "reasoning_content" beside content, "stop_reason" (the stop string that ended a choice) beside
// finish_reason, "timings" in whole answers and in the last chunk. One object per request; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/backend.h"
#include "api/event.h"
#include "base/result.h"

namespace brio::api {

enum class OpenAiKind { kChat, kCompletion };

// What every chunk of an answer repeats.
struct OpenAiShape {
  OpenAiKind kind = OpenAiKind::kChat;
  std::string id;  // "chatcmpl-..."
  int64_t created = 0;
  std::string model;
  std::string fingerprint;
  int num_choices = 1;
  bool include_usage = false;
  bool logprobs = false;
};

class OpenAiStream {
 public:
  explicit OpenAiStream(OpenAiShape shape);
  void write(const Event& event, std::vector<std::string>& payloads);

 private:
  std::string chunk(std::string_view choices, std::string_view more = {}) const;
  void write_delta(const Delta& delta, std::vector<std::string>& payloads);
  void write_done(const Done& done, std::vector<std::string>& payloads);
  void release_finish(std::vector<std::string>& payloads, std::string_view more = {});

  OpenAiShape shape_;
  std::string head_;                   // {"id": ... up to the choices
  std::vector<int> text_offsets_;      // characters sent, per choice
  std::optional<std::string> finish_;  // the last finish chunk's choices, held back so that timings can join it
};

class OpenAiFold {
 public:
  explicit OpenAiFold(OpenAiShape shape);
  void add(const Event& event);
  std::string json() const;  // after Done

 private:
  struct Choice {
    std::string text;
    std::string reasoning;
    std::vector<ToolCallDelta> calls;  // each whole
    std::vector<PositionLogprobs> logprobs;
    Finish finish;
  };
  static void add_call(Choice& choice, const ToolCallDelta& piece);
  static std::string message(const Choice& choice);

  OpenAiShape shape_;
  std::vector<Choice> choices_;
  Done done_;
};

// {"error": {"message", "type", "param", "code"}}. A message that opens with a quoted name is about that field:
// "param".
std::string openai_error(const Error& error);
// An error of the HTTP layer: no native code fits a method that is not allowed.
std::string openai_error(int status, std::string_view message);

std::string openai_models(std::span<const ModelInfo> models);
std::string openai_model(const ModelInfo& model);

}  // namespace brio::api
