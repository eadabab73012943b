// Native events: one answer as it happens. A call's events arrive in this order, and exactly one of Done and Failed
// ends it:
//
//   Started, then per choice any number of Delta and one Finish (choices interleave), then Done
//   Failed at any point: before Started the request was refused, after it the answer broke off
//
// A streamed response writes each event, a whole response folds them: both are the same events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace brio::api {

struct TokenLogprob {
  int32_t id = 0;
  std::string bytes;  // of the token, may be part of a character
  float logprob = 0.0F;
};

struct PositionLogprobs {
  bool known = true;    // false: the first token of an echoed prompt follows nothing, so it has no probability
  bool in_text = true;  // false: a begin token in front of an echoed prompt, which its text does not show
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // likeliest first, as many as asked for
};

enum class FinishReason { kStop, kLength, kToolCalls };

// Accepted: queued with a known prompt. Comes before the first token, maybe long before.
struct Started {
  int prompt_tokens = 0;  // of all prompts, each counted once
  int cached_tokens = 0;
};

// A piece of a tool call. The first one of a call has its id and name, those after it add to the arguments; the calls
// of a choice come one after the other.
struct ToolCallDelta {
  int index = 0;          // of the call within its choice, from 0
  std::string id;         // empty but in the first piece, as is the name
  std::string name;       // of the function
  std::string arguments;  // JSON text to append; a call without arguments has "{}"
};

// One piece of one choice: of its text, of its reasoning or of a tool call, or logprobs alone.
struct Delta {
  int choice = 0;
  std::string text;                        // whole UTF-8
  std::vector<PositionLogprobs> logprobs;  // of the tokens since the last delta of this choice
  std::string reasoning = {};              // whole UTF-8
  std::optional<ToolCallDelta> tool_call = {};
};

struct Finish {
  int choice = 0;
  FinishReason reason = FinishReason::kStop;  // kToolCalls: stopped after at least one call
  std::string matched_stop;                   // the stop string that ended it, or empty
};

struct Usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;      // part of prompt_tokens
  int completion_tokens = 0;  // over all choices
  int reasoning_tokens = 0;   // part of completion_tokens
};

struct Timings {
  double queue_ms = 0.0;  // arrival to first scheduled
  double ttft_ms = 0.0;   // arrival to first token
  double tpot_ms = 0.0;   // (last token - first token) / (n - 1), mean over choices; 0 for single tokens
  double total_ms = 0.0;  // arrival to end
};

struct Done {
  Usage usage;
  Timings timings;
};

struct Failed {
  Error error;
};

using Event = std::variant<Started, Delta, Finish, Done, Failed>;

}  // namespace brio::api
