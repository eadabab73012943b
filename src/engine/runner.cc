#include "engine/runner.h"

namespace brio::engine {

StepLogits Runner::run(const Plan& plan) {
  const ops::Rows& logits = model_->forward({{plan.rows, plan.writes}, source_, hooks_});
  return StepLogits(model_->ops(), logits);
}

}  // namespace brio::engine
