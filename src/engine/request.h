// GenerateRequest: what the engine is asked to do, in its own terms: token ids in, sampling and stop rules. The server
// translates wire formats to it. Plain data; validated by Engine::submit (admission.h), which names the field at fault.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace brio::grammar {
class CompiledGrammar;
}

namespace brio::engine {

using RequestId = uint64_t;  // never reused, 1 is the first

struct LogitBias {
  int32_t token = 0;
  float bias = 0.0F;  // -100 .. 100, added to the token's logit
};

// Applied in this order: bias and penalties on the logits, temperature, top-k, top-p (of what top-k left), min-p.
struct SamplingParams {
  float temperature = 1.0F;         // 0: greedy, ties to the lowest token id; the filters then change nothing
  int top_k = 0;                    // keep the k likeliest; 0: all
  float top_p = 1.0F;               // keep the smallest set of likeliest tokens whose mass reaches top_p; in (0, 1]
  float min_p = 0.0F;               // keep tokens with p >= min_p * p_max; in [0, 1]
  float repetition_penalty = 1.0F;  // > 0; tokens of prompt or output: positive logits divided, negative multiplied
  float frequency_penalty = 0.0F;   // times the count in the output, subtracted; in [-2, 2]
  float presence_penalty = 0.0F;    // subtracted once from tokens in the output; in [-2, 2]
  std::vector<LogitBias> logit_bias;
  std::optional<uint64_t> seed;  // absent: fresh entropy per request
  int logprobs = -1;             // -1: none; k >= 0: the chosen token's and the k likeliest. Of the model's raw
                                 //   distribution: before bias, penalties, temperature and filters
};

struct GenerateRequest {
  std::vector<int32_t> prompt;  // at least one id
  SamplingParams sampling;
  int n = 1;                      // choices; the prompt is computed once
  std::optional<int> max_tokens;  // per choice; absent: to the end of the context; 0: compute the prompt only
  int min_tokens = 0;             // until then end-of-generation and stop token ids cannot be sampled
  std::vector<std::string> stop;  // the text ends before the first of these; never part of the output
  std::vector<int32_t> stop_token_ids;
  std::vector<int32_t> shown_tokens;  // control tokens whose text is part of the output: markers of tool calls
  bool ignore_eos = false;            // end-of-generation tokens are ordinary tokens; not with a grammar
  // What each choice has to match, as a whole unless max_tokens or a stop string cuts it; null: anything. A choice whose
  // text can only end has ended. Shared with other requests.
  std::shared_ptr<const grammar::CompiledGrammar> grammar;
  int prompt_logprobs = -1;  // -1: none; k >= 0: like logprobs, for each prompt token given those before it
  TimePoint arrival{};       // when the client's request arrived; zero: when it is submitted
};

}  // namespace brio::engine
