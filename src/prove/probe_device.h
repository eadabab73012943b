// ProbeDevice: the CPU's operations with the instruction set and the number of threads chosen anew before any step, so that
// one loaded model runs in every environment; and, on request, a trace of what each operation computed. Otherwise it
// hands every call through to CpuOps.
#pragma once

#include <memory>
#include <vector>

#include "base/cpu.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "ops/cpu_ops.h"
#include "ops/forwarding_ops.h"
#include "prove/trace.h"

namespace brio::prove {

class ProbeDevice final : public ops::ForwardingOps {
 public:
  // Threads 1 .. most_threads, more than there are cores too; every ISA that the CPU has.
  static Result<std::shared_ptr<ProbeDevice>> create(tensor::Numerics numerics, int most_threads);

  void choose(Isa isa, int threads);
  Isa isa() const { return current_->isa(); }  // of the operations that run
  ThreadPool& pool(int threads) { return *pools_[static_cast<size_t>(threads - 1)]; }
  int most_threads() const { return static_cast<int>(pools_.size()); }
  const std::vector<Isa>& isas() const { return isas_; }

  void set_trace(Trace* trace) { trace_ = trace; }
  Trace* trace() const { return trace_; }

  void embed(const tensor::Weight& table, std::span<const ops::Row> rows, float scale, ops::Rows& x) override;
  void norm(const ops::Rows& x, int num_rows, const tensor::Vector& weight, float epsilon,
            ops::Activation& out) override;
  void norm_gather(const ops::Rows& x, std::span<const int32_t> row_ids, const tensor::Vector& weight, float epsilon,
                   ops::Activation& out) override;
  void norm_add(const ops::Rows& branch, int num_rows, const tensor::Vector& weight, float epsilon,
                ops::Rows& x) override;
  void linear(const ops::Activation& in, int num_rows, std::span<const ops::LinearTask> tasks) override;
  void gated_linear(const ops::Activation& in, int num_rows, const tensor::Weight& gate, const tensor::Weight& up,
                    ops::Nonlinearity f, ops::Activation& out) override;
  void rope_and_store(ops::Rows& q, const ops::Rows& k, const ops::Rows& v, const ops::StepRows& step,
                      const ops::HeadNorms& norms, ops::RopeTable& rope, const tensor::KvLayerView& kv) override;
  void attention(const ops::Rows& q, const ops::StepRows& step, const ops::AttentionShape& shape,
                 const tensor::KvLayerView& kv, ops::Activation& out) override;

 private:
  ProbeDevice() = default;
  ops::OpSet& inner() const override { return *current_; }
  void trace_rows(const std::string& name, const ops::Rows& rows, int count);
  void trace_input(const std::string& name, const ops::Activation& in, int count);
  int traced_row(int row) const { return gathered_.empty() ? row : gathered_[static_cast<size_t>(row)]; }

  std::vector<std::unique_ptr<ThreadPool>> pools_;                  // of 1, 2, ... threads
  std::vector<Isa> isas_;                                           // ascending
  std::vector<std::vector<std::unique_ptr<ops::CpuOps>>> devices_;  // [ISA][threads - 1]
  ops::CpuOps* current_ = nullptr;
  Trace* trace_ = nullptr;
  std::vector<int32_t> gathered_;  // after norm_gather: the rows of the step that go on
};

}  // namespace brio::prove
