// Llama family: pre-norm, rotary attention with grouped heads, gated feed-forward. Touvron et al. 2023,
// sections 2.1-2.2. Covers Llama 1-3, Mistral and SmolLM2; differences are numbers in Config, never branches here.
#include "model/decoder.h"

namespace brio::model {
namespace {

class Llama final : public Decoder {
 public:
  Llama(Config config, Limits limits, std::shared_ptr<ops::OpSet> ops)
      : Decoder(std::move(config), limits, std::move(ops)), rope_(config_.rope) {}

  Result<void> load(WeightLoader& load) {
    BRIO_TRY_OK(load_ends(load));
    for (int l = 0; l < config_.num_layers; ++l) {
      Layer layer;
      BRIO_TRY(layer.attention, load_attention(load, l));
      BRIO_TRY_OK(load_key_factor(load, l, nullptr, layer.attention));
      BRIO_TRY(layer.feed_forward, load_feed_forward(load, l));
      layers_.push_back(std::move(layer));
    }
    weight_bytes_ = load.packed_bytes();
    return allocate();
  }

  const ops::Rows& forward(const StepInputs& in) override {
    const int n = static_cast<int>(in.step.rows.size());
    const float epsilon = config_.norm_epsilon;
    embed(in);  // x        [rows, hidden]
    for (int l = 0; l < config_.num_layers; ++l) {
      const Layer& w = layers_[static_cast<size_t>(l)];
      in.hooks.before_layer(l);
      const tensor::KvLayerView kv = in.kv.layer(l);
      ops_->norm(x_, n, w.attention.norm, epsilon, act_);  // act      [rows, hidden]
      const ops::LinearTask qkv[] = {
          {&w.attention.q, or_none(w.attention.q_bias), &q_},  // q        [rows, heads * head_dim]
          {&w.attention.k, or_none(w.attention.k_bias), &k_},  // k, v     [rows, kv_heads * head_dim]
          {&w.attention.v, or_none(w.attention.v_bias), &v_}};
      ops_->linear(act_, n, qkv);
      ops_->rope_and_store(q_, k_, v_, in.step, {nullptr, nullptr, 0.0F, or_none(w.attention.key_factor)}, rope_,
                           kv);                                       // q in place; k, v -> pages
      ops_->attention(q_, in.step, attention_shape(), kv, context_);  // context  [rows, heads * head_dim]
      const ops::LinearTask out{&w.attention.out, or_none(w.attention.out_bias), &x_,
                                ops::Store::kAdd};  // x       += context Wo
      ops_->linear(context_, n, {&out, 1});
      ops_->norm(x_, n, w.feed_forward.norm, epsilon, act_);
      ops_->gated_linear(act_, n, w.feed_forward.gate, w.feed_forward.up, ops::Nonlinearity::kSilu,
                         hidden_);  // hidden   [rows, feed_forward]
      const ops::LinearTask down{&w.feed_forward.down, nullptr, &x_, ops::Store::kAdd};  // x   += hidden Wd
      ops_->linear(hidden_, n, {&down, 1});
      in.hooks.after_layer(l);
    }
    return head();  // logits   [asked rows, vocab]
  }

 private:
  struct Layer {
    AttentionWeights attention;
    FeedForwardWeights feed_forward;
  };
  std::vector<Layer> layers_;
  ops::RopeTable rope_;
};

}  // namespace

Result<std::unique_ptr<Model>> build_llama(Config config, Limits limits, std::shared_ptr<ops::OpSet> ops,
                                           WeightLoader& load) {
  auto model = std::make_unique<Llama>(std::move(config), limits, std::move(ops));
  BRIO_TRY_OK(model->load(load));
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace brio::model
