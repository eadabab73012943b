#include "prove/depth.h"

#include <algorithm>

#include "kernels/attention.h"
#include "prove/texts.h"

namespace brio::prove {
namespace {

constexpr int kMostLogits = 64;
constexpr int kMostSequences = 32;

}  // namespace

model::Limits limits_of(const Depth& depth) {
  return {std::max(depth.most_rows, kMostLogits), kMostLogits};
}

Result<Material> make_material(const Depth& depth, TracedModel& model, uint64_t seed, std::span<const int32_t> real) {
  const model::Config& config = model.config();
  TextOptions texts;
  texts.count = depth.texts;
  texts.most_tokens = depth.most_tokens;
  const int longest = config.context - std::max(depth.most_tokens, kLongAnswer) - 1;
  texts.longest = std::min(depth.longest, longest);
  texts.past_split = longest > kernels::kSplitTokens ? depth.past_split : 0;
  texts.vocab = config.vocab;
  texts.seed = seed;
  if (texts.longest < kShortestLongest) {
    return error(ErrorCode::kContextLengthExceeded, "a context of {} tokens is too short to prove anything",
                 config.context);
  }
  const ProbeDevice& device = model.device();
  return Material{make_texts(texts, real),
                  device.isas(),
                  device.most_threads(),
                  model.limits().max_rows,
                  std::min(kMostSequences, model.limits().max_logits),
                  depth.most_visits};
}

}  // namespace brio::prove
