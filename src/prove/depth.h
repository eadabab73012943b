// Depth: how much a proof tries, and the material that a model gets for it. The same for the command and the tests.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "prove/rows.h"
#include "prove/traced_model.h"

namespace brio::prove {

struct Depth {
  std::string_view name;
  int texts = 0;
  int longest = 0;  // prompt
  int most_tokens = 0;
  int most_visits = 0;  // of a run
  int runs = 0;         // of a row
  int most_rows = 0;    // of a step
  int past_split = 0;   // texts, beside the longest
};
inline constexpr Depth kQuick = {"quick", 16, 100, 6, 4, 2, 64, 2};
inline constexpr Depth kUsual = {"usual", 24, 260, 10, 8, 6, 256, 2};
inline constexpr Depth kFull = {"full", 48, 520, 16, 16, 24, 512, 0};

// What a model is built with to be proved that deep.
model::Limits limits_of(const Depth& depth);

// real: ids of real text that prompts are cut from, may be empty. An error when the model's context is too short.
Result<Material> make_material(const Depth& depth, TracedModel& model, uint64_t seed, std::span<const int32_t> real);

}  // namespace brio::prove
