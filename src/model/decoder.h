// Decoder: what every decoder-only architecture has: embedding, activations between the layers, and the LM head. The
// layers themselves are written out in each architecture's file.
#pragma once

#include <memory>
#include <vector>

#include "model/model.h"
#include "model/weight_loader.h"
#include "ops/ops.h"

namespace brio::model {

// The feed-forward and attention matrices that all architectures here share by name and shape.
struct AttentionWeights {
  tensor::Vector norm;     // [hidden]
  tensor::Weight q, k, v;  // [heads * head_dim, hidden], [kv_heads * head_dim, hidden] twice
  tensor::Weight out;      // [hidden, heads * head_dim]
  // [heads * head_dim], [kv_heads * head_dim] twice, [hidden]; empty where the file has none.
  tensor::Vector q_bias, k_bias, v_bias, out_bias;
  tensor::Vector key_factor;  // [kv_heads * head_dim]; empty unless keys are stored as int8
};
struct FeedForwardWeights {
  tensor::Vector norm;      // [hidden]
  tensor::Weight gate, up;  // [feed_forward, hidden]
  tensor::Weight down;      // [hidden, feed_forward]
};

// As LinearTask wants it.
inline const tensor::Vector* or_none(const tensor::Vector& bias) {
  return bias ? &bias : nullptr;
}

class Decoder : public Model {
 protected:
  using Model::Model;

  // Embedding, final norm and LM head (tied to the embedding where the file has no output matrix).
  Result<void> load_ends(WeightLoader& load);
  Result<AttentionWeights> load_attention(WeightLoader& load, int layer);
  // Where keys are stored as int8: their factors (model/key_factors.h). k_norm: on the heads of k, or null.
  Result<void> load_key_factor(const WeightLoader& load, int layer, const tensor::Vector* k_norm,
                               AttentionWeights& attention);
  Result<FeedForwardWeights> load_feed_forward(WeightLoader& load, int layer);
  // Allocates activations in the forms that the loaded weights read. Call once, after loading.
  Result<void> allocate();

  // x = embedding of the step's tokens; collects the rows that want logits.
  void embed(const StepInputs& in);
  // logits of those rows.
  const ops::Rows& head();

  ops::AttentionShape attention_shape() const {
    return {config_.num_heads, config_.head_dim, config_.attention_scale, 0.0F};
  }

  ops::Rows x_;              // [rows, hidden]                  the residual stream
  ops::Rows q_, k_, v_;      // [rows, heads * head_dim], [rows, kv_heads * head_dim] twice
  ops::Rows branch_;         // [rows, hidden]                  a block's output where a post-norm follows
  ops::Activation act_;      // [rows, hidden]                  normalised input of a block
  ops::Activation context_;  // [rows, heads * head_dim]        attention's output
  ops::Activation hidden_;   // [rows, feed_forward]
  ops::Activation head_in_;  // [logit rows, hidden]
  ops::Rows logits_;         // [logit rows, vocab]

 private:
  tensor::Weight embedding_;    // [vocab, hidden]
  tensor::Vector output_norm_;  // [hidden]
  tensor::Weight output_;       // [vocab, hidden]; shares the embedding's bytes when tied
  std::vector<int32_t> logit_rows_;
  tensor::InputForms act_forms_ = tensor::InputForms::kNone;
  tensor::InputForms context_forms_ = tensor::InputForms::kNone;
  tensor::InputForms hidden_forms_ = tensor::InputForms::kNone;
};

// Each architecture's file defines one of these; registry.cc lists them.
Result<std::unique_ptr<Model>> build_llama(Config config, Limits limits, std::shared_ptr<ops::OpSet> ops,
                                           WeightLoader& load);
Result<std::unique_ptr<Model>> build_qwen2(Config config, Limits limits, std::shared_ptr<ops::OpSet> ops,
                                           WeightLoader& load);
Result<std::unique_ptr<Model>> build_qwen3(Config config, Limits limits, std::shared_ptr<ops::OpSet> ops,
                                           WeightLoader& load);
Result<std::unique_ptr<Model>> build_gemma3(Config config, Limits limits, std::shared_ptr<ops::OpSet> ops,
                                            WeightLoader& load);

}  // namespace brio::model
