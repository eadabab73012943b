#include "model/decoder.h"

#include "base/check.h"
#include "model/key_factors.h"

namespace brio::model {

Result<void> Decoder::load_ends(WeightLoader& load) {
  BRIO_TRY(embedding_, load.matrix("token_embd.weight", config_.vocab, config_.hidden));
  BRIO_TRY(output_norm_, load.vector("output_norm.weight", config_.hidden));
  if (load.has("output.weight")) {
    BRIO_TRY(output_, load.matrix("output.weight", config_.vocab, config_.hidden));
  } else {
    output_ = embedding_;
  }
  return {};
}

Result<AttentionWeights> Decoder::load_attention(WeightLoader& load, int layer) {
  const int q_width = config_.num_heads * config_.head_dim;
  const int kv_width = config_.num_kv_heads * config_.head_dim;
  AttentionWeights w;
  BRIO_TRY(w.norm, load.vector(layer, "attn_norm.weight", config_.hidden));
  BRIO_TRY(w.q, load.matrix(layer, "attn_q.weight", q_width, config_.hidden));
  BRIO_TRY(w.k, load.matrix(layer, "attn_k.weight", kv_width, config_.hidden));
  BRIO_TRY(w.v, load.matrix(layer, "attn_v.weight", kv_width, config_.hidden));
  BRIO_TRY(w.out, load.matrix(layer, "attn_output.weight", config_.hidden, q_width));
  BRIO_TRY(w.q_bias, load.vector_or_none(layer, "attn_q.bias", q_width));
  BRIO_TRY(w.k_bias, load.vector_or_none(layer, "attn_k.bias", kv_width));
  BRIO_TRY(w.v_bias, load.vector_or_none(layer, "attn_v.bias", kv_width));
  BRIO_TRY(w.out_bias, load.vector_or_none(layer, "attn_output.bias", config_.hidden));
  act_forms_ = act_forms_ | w.q.input_form() | w.k.input_form() | w.v.input_form();
  context_forms_ = context_forms_ | w.out.input_form();
  return w;
}

Result<void> Decoder::load_key_factor(const WeightLoader& load, int layer, const tensor::Vector* k_norm,
                                      AttentionWeights& attention) {
  if (config_.kv_type != tensor::KvType::kInt8) return {};
  const int64_t width = int64_t{config_.num_kv_heads} * config_.head_dim;
  std::vector<float> spread;
  std::span<const float> bias = attention.k_bias.values();
  if (k_norm != nullptr) {  // makes every channel's variance 1 before its weight; a bias has been normalised away
    while (static_cast<int64_t>(spread.size()) < width) {
      spread.insert(spread.end(), k_norm->values().begin(), k_norm->values().end());
    }
    bias = {};
  } else {
    BRIO_TRY(spread, load.row_norms(layer, "attn_k.weight", width, attention.norm.values()));
  }
  attention.key_factor = tensor::Vector(key_factors(spread, bias, config_.head_dim, config_.rope));
  return {};
}

Result<FeedForwardWeights> Decoder::load_feed_forward(WeightLoader& load, int layer) {
  FeedForwardWeights w;
  BRIO_TRY(w.norm, load.vector(layer, "ffn_norm.weight", config_.hidden));
  BRIO_TRY(w.gate, load.matrix(layer, "ffn_gate.weight", config_.feed_forward, config_.hidden));
  BRIO_TRY(w.up, load.matrix(layer, "ffn_up.weight", config_.feed_forward, config_.hidden));
  BRIO_TRY(w.down, load.matrix(layer, "ffn_down.weight", config_.hidden, config_.feed_forward));
  act_forms_ = act_forms_ | w.gate.input_form() | w.up.input_form();
  hidden_forms_ = hidden_forms_ | w.down.input_form();
  return w;
}

Result<void> Decoder::allocate() {
  const int rows = limits_.max_rows;
  const int q_width = config_.num_heads * config_.head_dim;
  const int kv_width = config_.num_kv_heads * config_.head_dim;
  BRIO_TRY(x_, ops_->make_rows(rows, config_.hidden));
  BRIO_TRY(branch_, ops_->make_rows(rows, config_.hidden));
  BRIO_TRY(q_, ops_->make_rows(rows, q_width));
  BRIO_TRY(k_, ops_->make_rows(rows, kv_width));
  BRIO_TRY(v_, ops_->make_rows(rows, kv_width));
  BRIO_TRY(act_, ops_->make_activation(rows, config_.hidden, act_forms_));
  BRIO_TRY(context_, ops_->make_activation(rows, q_width, context_forms_));
  BRIO_TRY(hidden_, ops_->make_activation(rows, config_.feed_forward, hidden_forms_));
  const auto head_form =
      output_.input_form() == tensor::InputForms::kS8 ? tensor::InputForms::kS8Pair : output_.input_form();
  BRIO_TRY(head_in_, ops_->make_activation(limits_.max_logits, config_.hidden, head_form));
  BRIO_TRY(logits_, ops_->make_rows(limits_.max_logits, config_.vocab));
  logit_rows_.reserve(static_cast<size_t>(limits_.max_logits));
  return {};
}

void Decoder::embed(const StepInputs& in) {
  BRIO_CHECK(in.step.rows.size() <= static_cast<size_t>(limits_.max_rows), "{} rows, the most is {}",
             in.step.rows.size(), limits_.max_rows);
  logit_rows_.clear();
  for (size_t r = 0; r < in.step.rows.size(); ++r) {
    if (in.step.rows[r].output == ops::RowOutput::kLogits) logit_rows_.push_back(static_cast<int32_t>(r));
  }
  BRIO_CHECK(logit_rows_.size() <= static_cast<size_t>(limits_.max_logits), "{} rows want logits, the most is {}",
             logit_rows_.size(), limits_.max_logits);
  ops_->embed(embedding_, in.step.rows, config_.embedding_scale, x_);
}

const ops::Rows& Decoder::head() {
  if (logit_rows_.empty()) return logits_;
  const int count = static_cast<int>(logit_rows_.size());
  ops_->norm_gather(x_, logit_rows_, output_norm_, config_.norm_epsilon, head_in_);
  const ops::LinearTask task{&output_, nullptr, &logits_};
  ops_->linear(head_in_, count, {&task, 1});
  return logits_;
}

}  // namespace brio::model
