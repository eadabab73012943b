// NullOps: the device without memory or arithmetic. Shapes are checked as on the CPU; nothing is computed. Scheduler tests
// run on it, and it proves that the layers above only hold handles.
//
// read() returns made-up logits: each a value in [-8, 8) drawn from (seed, the row's token, its position, vocabulary id)
// alone. Handles remember which token and position each of their rows came from, from embed() on through every
// operation. So a sequence's tokens do not depend on batching, chunks or preemption, as on a real device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "ops/ops.h"

namespace brio::ops {

class NullOps final : public OpSet {
 public:
  explicit NullOps(uint64_t seed = 0);
  ~NullOps() override;

  tensor::Device device() const override { return tensor::Device::kNull; }
  tensor::Numerics numerics() const override { return tensor::Numerics::kDefault; }

  Result<Rows> make_rows(int max_rows, int width) override;
  Result<Activation> make_activation(int max_rows, int width, tensor::InputForms forms) override;

  void embed(const tensor::Weight& table, std::span<const Row> rows, float scale, Rows& x) override;
  void norm(const Rows& x, int num_rows, const tensor::Vector& weight, float epsilon, Activation& out) override;
  void norm_gather(const Rows& x, std::span<const int32_t> row_ids, const tensor::Vector& weight, float epsilon,
                   Activation& out) override;
  void norm_add(const Rows& branch, int num_rows, const tensor::Vector& weight, float epsilon, Rows& x) override;
  void linear(const Activation& in, int num_rows, std::span<const LinearTask> tasks) override;
  void gated_linear(const Activation& in, int num_rows, const tensor::Weight& gate, const tensor::Weight& up,
                    Nonlinearity f, Activation& out) override;
  void rope_and_store(Rows& q, const Rows& k, const Rows& v, const StepRows& step, const HeadNorms& norms,
                      RopeTable& rope, const tensor::KvLayerView& kv) override;
  void attention(const Rows& q, const StepRows& step, const AttentionShape& shape, const tensor::KvLayerView& kv,
                 Activation& out) override;
  std::span<const float> read(const Rows& rows, int row) const override;
  std::vector<float> read(const Activation&, int) const override { return {}; }
  int64_t weight_passes() const override { return weight_passes_; }

 private:
  struct Origin {
    int32_t token = 0;
    int32_t position = 0;
  };
  struct Contents {
    std::vector<Origin> origins;             // [max_rows]
    std::vector<std::vector<float>> logits;  // [max_rows], made by read()
  };
  std::vector<Origin>& origins(const Rows& rows);
  std::vector<Origin>& origins(const Activation& activation);
  static void copy(const std::vector<Origin>& from, int num_rows, std::vector<Origin>& to);

  uint64_t seed_;
  int64_t weight_passes_ = 0;
  mutable std::unordered_map<const void*, Contents> contents_;  // by the handle's storage, which lives as long as this
  std::vector<std::shared_ptr<void>> storages_;
};

}  // namespace brio::ops
