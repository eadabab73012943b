// Chunking: how much of a prompt one step takes. Results never depend on it (DESIGN section 4); all but kBudget, and
// RandomPreemption, exist to prove that.
#pragma once

#include <cstdint>

namespace brio::engine {

struct Chunking {
  enum class Kind : uint8_t { kBudget, kFixed, kRandom, kRandomBudget };
  Kind kind = Kind::kBudget;  // as much as the step's row budget leaves
  int size = 0;       // kFixed: at most this many tokens; kRandom: 1 .. size; kRandomBudget: 1 .. size rows a step
  uint64_t seed = 0;  // of what is random
};

// Preempts a running sequence, never the oldest, in one of so many steps.
struct RandomPreemption {
  int one_in = 0;  // 0: never
  uint64_t seed = 0;
};

}  // namespace brio::engine
