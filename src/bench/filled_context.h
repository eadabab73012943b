// FilledContext: a model whose context comes for free. Rows below a position are not computed: made-up keys and values are
// stored where the real ones would be, through the device's own store, so that what is measured afterwards reads a cache
// of the right size in the right places. All other rows are the model's own, unchanged. Logits that context rows ask for
// are whatever the last computed step left.
#pragma once

#include <memory>

#include "bench/timed_ops.h"
#include "model/model.h"

namespace brio::bench {

class FilledContext final : public model::Model {
 public:
  static Result<std::unique_ptr<FilledContext>> create(std::unique_ptr<model::Model> model,
                                                       std::shared_ptr<TimedOps> ops);

  // Rows at positions below `end` are context from now on; 0: everything is computed.
  void fill_below(int end) { end_ = end; }
  int64_t filled_rows() const { return filled_rows_; }

  const ops::Rows& forward(const model::StepInputs& in) override;

 private:
  FilledContext(std::unique_ptr<model::Model> model, std::shared_ptr<TimedOps> ops);

  void store(std::span<const ops::Row> rows, const model::StepInputs& in);

  std::unique_ptr<model::Model> model_;
  ops::Rows q_, k_, v_;  // [max_rows, heads * head_dim], [max_rows, kv_heads * head_dim] twice
  ops::RopeTable rope_;
  int end_ = 0;
  std::vector<ops::Row> context_, computed_;  // rows of a step
  int64_t filled_rows_ = 0;
  const ops::Rows* logits_ = nullptr;  // of the last step that was computed
};

}  // namespace brio::bench
