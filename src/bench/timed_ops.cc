#include "bench/timed_ops.h"

#include <fmt/format.h>

namespace brio::bench {

template <typename Name, typename Operation>
void TimedOps::timed(Kind kind, const Name& name, const Operation& operation) {
  if (!on_) return operation();
  const TimePoint start = clock_.now();
  operation();
  const Duration took = clock_.now() - start;
  Total& total = totals_[name()];
  total.time += took;
  ++total.calls;
  total.is_linear = kind == Kind::kLinear;
}

void TimedOps::embed(const tensor::Weight& table, std::span<const ops::Row> rows, float scale, ops::Rows& x) {
  timed(
      Kind::kOther, [] { return std::string("embed"); }, [&] { device_->embed(table, rows, scale, x); });
}

void TimedOps::norm(const ops::Rows& x, int num_rows, const tensor::Vector& weight, float epsilon,
                    ops::Activation& out) {
  timed(
      Kind::kLinear, [] { return std::string("norm, quantise"); },
      [&] { device_->norm(x, num_rows, weight, epsilon, out); });
}

void TimedOps::norm_gather(const ops::Rows& x, std::span<const int32_t> row_ids, const tensor::Vector& weight,
                           float epsilon, ops::Activation& out) {
  timed(
      Kind::kLinear, [] { return std::string("norm, quantise"); },
      [&] { device_->norm_gather(x, row_ids, weight, epsilon, out); });
}

void TimedOps::norm_add(const ops::Rows& branch, int num_rows, const tensor::Vector& weight, float epsilon,
                        ops::Rows& x) {
  timed(
      Kind::kOther, [] { return std::string("post-norm, add"); },
      [&] { device_->norm_add(branch, num_rows, weight, epsilon, x); });
}

void TimedOps::linear(const ops::Activation& in, int num_rows, std::span<const ops::LinearTask> tasks) {
  const auto name = [&] {
    int64_t outputs = 0;
    for (const ops::LinearTask& task : tasks) outputs += task.weight->rows();
    return fmt::format("linear {}x{}", outputs, in.width());
  };
  timed(Kind::kLinear, name, [&] { device_->linear(in, num_rows, tasks); });
}

void TimedOps::gated_linear(const ops::Activation& in, int num_rows, const tensor::Weight& gate,
                            const tensor::Weight& up, ops::Nonlinearity f, ops::Activation& out) {
  const auto name = [&] { return fmt::format("gated linear {}x{}", gate.rows() + up.rows(), in.width()); };
  timed(Kind::kLinear, name, [&] { device_->gated_linear(in, num_rows, gate, up, f, out); });
}

void TimedOps::rope_and_store(ops::Rows& q, const ops::Rows& k, const ops::Rows& v, const ops::StepRows& step,
                              const ops::HeadNorms& norms, ops::RopeTable& rope, const tensor::KvLayerView& kv) {
  timed(
      Kind::kOther, [] { return std::string("rope, store"); },
      [&] { device_->rope_and_store(q, k, v, step, norms, rope, kv); });
}

void TimedOps::attention(const ops::Rows& q, const ops::StepRows& step, const ops::AttentionShape& shape,
                         const tensor::KvLayerView& kv, ops::Activation& out) {
  timed(
      Kind::kOther, [] { return std::string("attention"); }, [&] { device_->attention(q, step, shape, kv, out); });
}

}  // namespace brio::bench
