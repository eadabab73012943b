// Runner: one model and where its keys and values are, as a function from a plan to logits. Between Scheduler and
// Sampler; the engine's thread.
#pragma once

#include <span>

#include "engine/step.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace brio::engine {

// The logits of a step, on the device; a row is fetched when the sampler asks for it. Valid until the next run().
class StepLogits {
 public:
  StepLogits(const ops::OpSet& ops, const ops::Rows& rows) : ops_(&ops), rows_(&rows) {}
  std::span<const float> row(int index) const { return ops_->read(*rows_, index); }  // [vocab]

 private:
  const ops::OpSet* ops_;
  const ops::Rows* rows_;
};

class Runner {
 public:
  Runner(model::Model& model, kv::KvCache& kv) : model_(&model), source_(kv) {}
  // After kv.begin(plan.sequences).
  StepLogits run(const Plan& plan);

 private:
  class CacheSource final : public model::KvSource {
   public:
    explicit CacheSource(kv::KvCache& kv) : kv_(&kv) {}
    tensor::KvLayerView layer(int layer) override { return kv_->layer(layer); }

   private:
    kv::KvCache* kv_;
  };

  model::Model* model_;
  CacheSource source_;
  model::LayerHooks hooks_;
};

}  // namespace brio::engine
