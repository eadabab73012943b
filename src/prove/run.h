// run: one Setup through the production engine (scheduler, cache, runner, sampler) on a virtual clock, every logit that
// comes out hashed and compared with what the same text gave before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "prove/setup.h"
#include "prove/traced_model.h"

namespace brio::prove {

// The first thing in a run that is not as it was.
struct Difference {
  enum class Kind : uint8_t { kLogits, kToken, kError };
  Kind kind = Kind::kLogits;
  int visit = 0;
  int choice = 0;
  int position = 0;     // of the logits, or of the token
  std::string message;  // kToken: both ids; kError: what the engine said
};

struct Outcome {
  int64_t combinations = 0;  // choices of visits that were compared
  int64_t positions = 0;     // logits that were
  std::optional<Difference> difference;
  Evidence evidence;
};

// The trace follows one choice of one visit.
struct Traced {
  Trace* trace = nullptr;
  int visit = 0;
  int choice = 0;
};

// answers[t] is compared with, and filled in where it is still empty (the first time that a text is run).
Outcome run(TracedModel& model, std::span<const Text> texts, std::span<Answers> answers, const Setup& setup,
            const Traced& traced = {});

}  // namespace brio::prove
