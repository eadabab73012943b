// CpuOps: the operations on the CPU. Splits work over the ThreadPool and calls the kernels of one ISA; owns scratch memory,
// not weights or pages. One thread (the engine's) calls it; the pool's threads work inside a call.
//
//   BRIO_TRY(auto ops, CpuOps::create(pool, isa, tensor::Numerics::kDefault));
//
// cpu_ops.cc: rows, norms; cpu_attention.cc: rope_and_store, attention; cpu_linear.cc: embed, linear, gated_linear.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cpu.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "ops/ops.h"

namespace brio::kernels {
struct KernelTable;
}

namespace brio::ops {

class CpuOps final : public OpSet {
 public:
  // The pool outlives the OpSet. An error when the CPU lacks the ISA.
  static Result<std::unique_ptr<CpuOps>> create(ThreadPool& pool, Isa isa, tensor::Numerics numerics);
  ~CpuOps() override;

  tensor::Device device() const override { return tensor::Device::kCpu; }
  tensor::Numerics numerics() const override { return numerics_; }
  Isa isa() const;

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
  std::vector<float> read(const Activation& in, int row) const override;
  int64_t weight_passes() const override { return weight_passes_.load(std::memory_order_relaxed); }

  struct AttentionScratch;  // ops/cpu_attention.h

 private:
  CpuOps(ThreadPool& pool, const kernels::KernelTable& kernels, tensor::Numerics numerics);

  ThreadPool& pool_;
  const kernels::KernelTable& kernels_;
  tensor::Numerics numerics_;
  std::atomic<int64_t> weight_passes_{0};
  std::unique_ptr<AttentionScratch> attention_scratch_;
};

}  // namespace brio::ops
