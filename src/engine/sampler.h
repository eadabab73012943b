// Sampler: logits to tokens. Comes after runner in a step; the engine's thread.
//
// For each row: bias, penalties, the grammar's mask and banned tokens, then greedy (the likeliest token, ties to the lowest id) or, with a
// temperature, the argmax of score + Gumbel noise over the tokens that top-k, top-p and min-p keep. Logprobs are those
// of the model's raw distribution, whatever the sampling parameters. A row with NaN or infinite logits is kNumeric.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/candidates.h"
#include "engine/events.h"
#include "engine/gumbel.h"
#include "engine/request.h"
#include "engine/runner.h"
#include "engine/step.h"
#include "engine/token_counts.h"
#include "grammar/matcher.h"
#include "ops/logits.h"

namespace brio::engine {

struct Draw {
  int32_t token = 0;
  std::optional<Logprobs> logprobs;
};

// What a draw depends on, besides the logits.
struct DrawContext {
  const SamplingParams* sampling = nullptr;
  const TokenCounts* counts = nullptr;
  std::span<const int32_t> banned;  // cannot be drawn
  NoiseKey noise;
  const grammar::Matcher* matcher = nullptr;  // tokens outside its mask cannot be drawn
};

// The next token of one choice.
struct Sample {
  Sequence* sequence = nullptr;  // for the prompt's end of n choices: the sequence that is to be forked
  int choice = 0;
  Result<Draw> draw;
};

// Logprobs of the prompt's token at `position`, given those before it.
struct PromptScore {
  Sequence* sequence = nullptr;
  int position = 0;
  Result<Logprobs> logprobs;
};

struct Samples {
  std::vector<Sample> tokens;        // in the plan's order, choices ascending
  std::vector<PromptScore> prompts;  // ascending within a sequence
};

class Sampler {
 public:
  const Samples& sample(const Plan& plan, const StepLogits& logits);

  // The parts, for tests and other drivers.                                                       logits [vocab]
  Result<Draw> draw(std::span<const float> logits, const DrawContext& context);
  Result<Logprobs> score(std::span<const float> logits, int32_t token, int num_top);

 private:
  std::span<const float> adjusted(std::span<const float> logits, const DrawContext& context);
  Result<ops::Peak> restrict(const DrawContext& context);
  Logprobs logprobs(std::span<const float> logits, float peak, int32_t token, int num_top);

  Samples samples_;
  std::vector<float> scratch_;  // the row as adjusted                                              [vocab]
  std::vector<uint64_t> mask_;  // bit i: token i may be drawn
  std::vector<Candidate> candidates_;
};

}  // namespace brio::engine
