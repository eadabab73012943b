#include "bench/filled_context.h"

#include "bench/random_data.h"

namespace brio::bench {

Result<std::unique_ptr<FilledContext>> FilledContext::create(std::unique_ptr<model::Model> model,
                                                             std::shared_ptr<TimedOps> ops) {
  std::unique_ptr<FilledContext> filled(new FilledContext(std::move(model), std::move(ops)));
  const model::Config& config = filled->config();
  const int rows = filled->limits().max_rows;
  BRIO_TRY(filled->q_, random_rows(filled->ops(), rows, config.num_heads * config.head_dim));
  BRIO_TRY(filled->k_, random_rows(filled->ops(), rows, config.num_kv_heads * config.head_dim));
  BRIO_TRY(filled->v_, random_rows(filled->ops(), rows, config.num_kv_heads * config.head_dim));
  return filled;
}

FilledContext::FilledContext(std::unique_ptr<model::Model> model, std::shared_ptr<TimedOps> ops)
    : Model(model->config(), model->limits(), std::move(ops)), model_(std::move(model)), rope_(config_.rope) {
  weight_bytes_ = model_->weight_bytes();
}

const ops::Rows& FilledContext::forward(const model::StepInputs& in) {
  context_.clear();
  computed_.clear();
  for (const ops::Row& row : in.step.rows) (row.position < end_ ? context_ : computed_).push_back(row);
  if (context_.empty() || logits_ == nullptr) {  // context may ask for logits: the first step makes some
    logits_ = &model_->forward(in);
    return *logits_;
  }
  store(context_, in);
  if (!computed_.empty()) logits_ = &model_->forward({{computed_, in.step.writes}, in.kv, in.hooks});
  return *logits_;
}

void FilledContext::store(std::span<const ops::Row> rows, const model::StepInputs& in) {
  for (int layer = 0; layer < config_.num_layers; ++layer) {
    in.hooks.before_layer(layer);
    ops_->rope_and_store(q_, k_, v_, {rows, in.step.writes}, {}, rope_, in.kv.layer(layer));
    in.hooks.after_layer(layer);
  }
  filled_rows_ += static_cast<int64_t>(rows.size());
}

}  // namespace brio::bench
