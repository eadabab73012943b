// Events: what comes back from the engine while a request runs. For every request, in this order: on_prompt (only if
// prompt_logprobs were asked), on_token any number of times, on_choice_end exactly once per choice, on_end exactly
// once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "telemetry/timeline.h"

namespace brio::engine {

enum class FinishReason : uint8_t { kStop, kLength, kAbort, kError };
std::string_view name(FinishReason reason);  // "stop", "length", "abort", "error"

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0.0F;  // natural log
};

struct Logprobs {
  TokenLogprob chosen;
  int rank = 0;                   // 1: the likeliest
  std::vector<TokenLogprob> top;  // as many as were asked, likeliest first, ties to the lowest id
};

struct PromptEvent {
  std::vector<std::optional<Logprobs>> logprobs;  // one per prompt token; the first has none
};

// One token of one choice. `text` is what became certain: whole UTF-8, never the beginning of a stop string; it may be
// empty and may belong to earlier tokens. A token that ends the choice by its id (end of generation, stop_token_ids)
// has no TokenEvent, but is counted in completion_tokens.
struct TokenEvent {
  RequestId request = 0;
  int choice = 0;
  int32_t token = 0;
  std::string text;
  std::optional<Logprobs> logprobs;
};

struct ChoiceEnd {
  RequestId request = 0;
  int choice = 0;
  FinishReason reason = FinishReason::kStop;
  std::string text;                        // the rest that was held back; empty after a stop string matched
  std::optional<std::string> stop_string;  // which one matched
  std::optional<int32_t> stop_token;       // which id ended it
  int completion_tokens = 0;
};

struct Usage {
  int prompt_tokens = 0;      // counted once whatever n
  int cached_tokens = 0;      // of the prompt, taken from the prefix cache
  int completion_tokens = 0;  // over all choices
};

struct RequestEnd {
  RequestId request = 0;
  FinishReason reason = FinishReason::kStop;  // kAbort or kError for the request as a whole, else that of choice 0
  std::optional<Error> error;                 // with kError
  Usage usage;
  uint64_t seed = 0;  // given or drawn: repeating it repeats the answer
  telemetry::Timeline timeline;
};

// Called by the thread that steps the engine, between steps: hand over and return, never block, never call step() or
// stop(). submit() and abort() are allowed. The engine lets go of the sink after on_end.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_prompt(RequestId /*request*/, const PromptEvent& /*event*/) {}
  virtual void on_token(const TokenEvent& event) = 0;
  virtual void on_choice_end(const ChoiceEnd& event) = 0;
  virtual void on_end(const RequestEnd& event) = 0;
};

}  // namespace brio::engine
