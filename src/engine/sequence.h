// Request and Sequence: the engine's state of what was asked and of each choice that answers it. Owned by Scheduler;
// the engine's thread.
//
// A sequence has known tokens (prompt + output) and computed ones (their keys and values are in the cache); every step
// lets computed catch up with known. A preempted sequence has computed 0 and everything else unchanged, so that it goes
// on where it was. Of n choices only the first exists until the prompt is computed; then it is forked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/events.h"
#include "engine/request.h"
#include "engine/text_stream.h"
#include "engine/token_counts.h"
#include "grammar/matcher.h"
#include "kv/kv_cache.h"

namespace brio::engine {

struct Sequence;

struct Request {
  RequestId id = 0;
  GenerateRequest spec;
  std::shared_ptr<EventSink> sink;
  uint64_t seed = 0;
  int max_tokens = 0;                              // per choice
  std::vector<int32_t> stop_ids;                   // sorted: stop_token_ids and, unless ignored, the ends of generation
  std::vector<std::unique_ptr<Sequence>> choices;  // by index
  bool admitted = false;                           // took part in a step, or waits for its turn after a preemption
  int ended = 0;                                   // choices, unforked ones included
  std::optional<FinishReason> first_reason;        // of choice 0
  int scored = 0;                                  // prompt positions whose logits prompt_logprobs has seen
  PromptEvent prompt_scores;
  Usage usage;
  telemetry::Timeline timeline;

  bool scores_prompt() const { return spec.prompt_logprobs >= 0; }
};

struct Sequence {
  enum class State : uint8_t { kWaiting, kRunning, kEnded };

  Request* request = nullptr;
  int choice = 0;
  int fan_out = 1;  // choices that its next sampled row starts: n before the fork
  State state = State::kWaiting;
  kv::SequenceId kv = -1;         // while running
  std::vector<int32_t> tokens{};  // known
  int num_prompt = 0;
  int computed = 0;
  int overtaken = 0;  // admissions of younger ones since it began to wait
  TextStream text;
  TokenCounts counts{};                       // maintained if the request has penalties
  std::optional<grammar::Matcher> matcher{};  // of a request with a grammar: where the output stands in it
  TimePoint last_token{};

  int known() const { return static_cast<int>(tokens.size()); }
  int num_output() const { return known() - num_prompt; }
  int pending() const { return known() - computed; }
  bool generates() const { return request->max_tokens > 0; }
};

inline bool has_penalties(const SamplingParams& sampling) {
  return sampling.repetition_penalty != 1.0F || sampling.frequency_penalty != 0.0F || sampling.presence_penalty != 0.0F;
}

// Tokens that may not be drawn now: those that would stop before min_tokens.
inline std::span<const int32_t> banned(const Sequence& sequence) {
  const Request& request = *sequence.request;
  return sequence.num_output() < request.spec.min_tokens ? std::span<const int32_t>(request.stop_ids)
                                                         : std::span<const int32_t>();
}

}  // namespace brio::engine
