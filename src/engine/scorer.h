// Scorer: the logits of every position of a given text, in order, with one sequence of its own KV cache: what `brio
// logits`, `brio perplexity` and checks need. Production rows, chunks and pages, without a scheduler around them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace brio::engine {

class Scorer {
 public:
  // context: the most tokens of one text. chunk: positions per step, at most the model's limits (both of them).
  static Result<Scorer> create(model::Model& model, int context, int chunk);

  // Calls on_logits(position, logits [vocab]) for positions 0, 1, ... of the text; an error from it ends the scoring. The
  // text is scored from scratch. Errors: kContextLengthExceeded; kInvalidArgument for an id outside the vocabulary.
  using OnLogits = std::function<Result<void>(int position, std::span<const float> logits)>;
  Result<void> score(std::span<const int32_t> tokens, const OnLogits& on_logits);

 private:
  Scorer(model::Model& model, std::unique_ptr<kv::KvCache> cache, int context, int chunk)
      : model_(&model), cache_(std::move(cache)), context_(context), chunk_(chunk) {}
  Result<void> score_sequence(kv::SequenceId sequence, std::span<const int32_t> tokens, const OnLogits& on_logits);

  model::Model* model_;
  std::unique_ptr<kv::KvCache> cache_;
  int context_;
  int chunk_;
};

}  // namespace brio::engine
