// HashModel: a model for tests of paging and scheduling. It keeps each position's token and position in the KV records,
// and its logits are pseudo-random numbers seeded by a hash of all tokens a row may see, as read back from the records.
// So any misplaced, stale, shared-and-overwritten or poisoned block changes the output, and reference_logits() says
// what the output must be from the tokens alone.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "model/model.h"

namespace brio::engine::testing {

inline uint64_t mix(uint64_t hash, uint64_t value) {
  const auto bits = philox({static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32),
                            static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)},
                           {0x62726F, 0x696F});
  return (uint64_t{bits[0]} << 32) | bits[1];
}

struct HashModelShape {
  int vocab = 64;
  int context = 4096;
  std::vector<int> windows = {40, 0};  // per layer; 0: full attention
  std::vector<int32_t> recites =
      {};                  // not empty: token recites[p] is the likeliest after position p, whatever came before
  int32_t nan_token = -1;  // whoever sees it gets NaN logits; never the likeliest itself
};

// [vocab] logits after `tokens`.
inline std::vector<float> logits_from(const HashModelShape& shape, uint64_t hash, bool is_nan) {
  std::vector<float> logits(static_cast<size_t>(shape.vocab));
  Rng rng(hash);
  for (float& logit : logits) logit = is_nan ? __builtin_nanf("") : rng.uniform(-4.0F, 4.0F);
  if (shape.nan_token >= 0 && !is_nan) logits[static_cast<size_t>(shape.nan_token)] = -8.0F;
  return logits;
}

inline std::vector<float> reference_logits(const HashModelShape& shape, std::span<const int32_t> tokens) {
  uint64_t hash = 0;
  bool is_nan = false;
  for (int window : shape.windows) {
    const size_t size = tokens.size();
    const size_t first = window > 0 && size > static_cast<size_t>(window) ? size - static_cast<size_t>(window) : 0;
    for (size_t p = first; p < size; ++p) {
      hash = mix(hash, static_cast<uint64_t>(tokens[p]));
      is_nan = is_nan || tokens[p] == shape.nan_token;
    }
  }
  return logits_from(shape, hash, is_nan);
}

// The greedy continuation, from the tokens alone.
inline std::vector<int32_t> reference_greedy(const HashModelShape& shape, std::vector<int32_t> tokens, int count) {
  std::vector<int32_t> output;
  for (int i = 0; i < count; ++i) {
    const std::vector<float> logits = reference_logits(shape, tokens);
    output.push_back(static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    tokens.push_back(output.back());
  }
  return output;
}

// Reads logits; every other operation is beyond this model.
class HashOps final : public ops::OpSet {
 public:
  tensor::Device device() const override { return tensor::Device::kCpu; }
  tensor::Numerics numerics() const override { return tensor::Numerics::kDefault; }
  Result<ops::Rows> make_rows(int max_rows, int width) override { return ops::Rows(nullptr, max_rows, width); }
  Result<ops::Activation> make_activation(int, int, tensor::InputForms) override { return ops::Activation(); }
  void embed(const tensor::Weight&, std::span<const ops::Row>, float, ops::Rows&) override { unused(); }
  void norm(const ops::Rows&, int, const tensor::Vector&, float, ops::Activation&) override { unused(); }
  void norm_gather(const ops::Rows&, std::span<const int32_t>, const tensor::Vector&, float,
                   ops::Activation&) override {
    unused();
  }
  void norm_add(const ops::Rows&, int, const tensor::Vector&, float, ops::Rows&) override { unused(); }
  void linear(const ops::Activation&, int, std::span<const ops::LinearTask>) override { unused(); }
  void gated_linear(const ops::Activation&, int, const tensor::Weight&, const tensor::Weight&, ops::Nonlinearity,
                    ops::Activation&) override {
    unused();
  }
  void rope_and_store(ops::Rows&, const ops::Rows&, const ops::Rows&, const ops::StepRows&, const ops::HeadNorms&,
                      ops::RopeTable&, const tensor::KvLayerView&) override {
    unused();
  }
  void attention(const ops::Rows&, const ops::StepRows&, const ops::AttentionShape&, const tensor::KvLayerView&,
                 ops::Activation&) override {
    unused();
  }
  std::span<const float> read(const ops::Rows&, int row) const override { return logits[static_cast<size_t>(row)]; }
  std::vector<float> read(const ops::Activation&, int) const override { return {}; }
  int64_t weight_passes() const override { return 0; }

  std::vector<std::vector<float>> logits;  // of the step, one per row that asked

 private:
  static void unused() { BRIO_CHECK(false); }
};

class HashModel final : public model::Model {
 public:
  explicit HashModel(const HashModelShape& shape, model::Limits limits = {})
      : Model(config_of(shape), limits, std::make_shared<HashOps>()), shape_(shape) {}

  const ops::Rows& forward(const model::StepInputs& in) override {
    BRIO_CHECK(static_cast<int>(in.step.rows.size()) <= limits_.max_rows);
    std::vector<uint64_t> hashes(in.step.rows.size(), 0);
    std::vector<bool> is_nan(in.step.rows.size(), false);
    for (int layer = 0; layer < config_.num_layers; ++layer) {
      const tensor::KvLayerView kv = in.kv.layer(layer);
      for (const ops::Row& row : in.step.rows) {
        for (const ops::WriteSlot& slot : in.step.writes.subspan(
                 static_cast<size_t>(row.write_begin), static_cast<size_t>(row.write_end - row.write_begin))) {
          float* cell = cell_of(kv, slot.sequence, slot.position);
          cell[0] = static_cast<float>(row.token);
          cell[1] = static_cast<float>(slot.position);
        }
      }
      for (size_t r = 0; r < in.step.rows.size(); ++r) {
        const ops::Row& row = in.step.rows[r];
        const int window = shape_.windows[static_cast<size_t>(layer)];
        const int first = std::max(row.visible_begin, window > 0 ? row.position - window + 1 : 0);
        for (int p = first; p < row.visible_end; ++p) {
          const float* cell = cell_of(kv, row.sequence, p);
          BRIO_CHECK(cell[1] == static_cast<float>(p), "layer {}: position {} holds {}", layer, p, cell[1]);
          hashes[r] = mix(hashes[r], static_cast<uint64_t>(cell[0]));
          is_nan[r] = is_nan[r] || static_cast<int32_t>(cell[0]) == shape_.nan_token;
        }
      }
    }
    auto& logits = static_cast<HashOps&>(*ops_).logits;
    logits.clear();
    for (size_t r = 0; r < in.step.rows.size(); ++r) {
      if (in.step.rows[r].output != ops::RowOutput::kLogits) continue;
      logits.push_back(logits_from(shape_, hashes[r], is_nan[r]));
      const auto position = static_cast<size_t>(in.step.rows[r].position);
      if (position < shape_.recites.size()) logits.back()[static_cast<size_t>(shape_.recites[position])] = 8.0F;
    }
    BRIO_CHECK(static_cast<int>(logits.size()) <= limits_.max_logits);
    return rows_;
  }

 private:
  static model::Config config_of(const HashModelShape& shape) {
    model::Config config;
    config.architecture = "hash";
    config.num_layers = static_cast<int>(shape.windows.size());
    config.num_heads = config.num_kv_heads = 1;
    config.head_dim = 32;
    config.hidden = 32;
    config.vocab = shape.vocab;
    config.context = shape.context;
    config.windows = shape.windows;
    config.kv_type = tensor::KvType::kF32;
    return config;
  }
  static float* cell_of(const tensor::KvLayerView& kv, int sequence, int position) {
    constexpr int kTokens = tensor::kBlockTokens;
    std::byte* record = kv.blocks[static_cast<size_t>(sequence)][static_cast<size_t>(position / kTokens)];
    BRIO_CHECK(record != nullptr, "position {} has been released", position);
    return reinterpret_cast<float*>(record) + position % kTokens * 2;
  }

  HashModelShape shape_;
  ops::Rows rows_;
};

}  // namespace brio::engine::testing
