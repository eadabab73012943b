#include "prove/probe_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "ops/attention_plan.h"

namespace brio::prove {

Result<std::shared_ptr<ProbeDevice>> ProbeDevice::create(tensor::Numerics numerics, int most_threads) {
  std::shared_ptr<ProbeDevice> device(new ProbeDevice);
  for (int threads = 1; threads <= most_threads; ++threads) {
    device->pools_.push_back(std::make_unique<ThreadPool>(threads));
  }
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (!cpu_supports(isa)) continue;
    device->isas_.push_back(isa);
    device->devices_.emplace_back();
    for (const auto& pool : device->pools_) {
      BRIO_TRY(auto ops, ops::CpuOps::create(*pool, isa, numerics));
      device->devices_.back().push_back(std::move(ops));
    }
  }
  device->choose(device->isas_.back(), 1);
  return device;
}

void ProbeDevice::choose(Isa isa, int threads) {
  const auto found = std::find(isas_.begin(), isas_.end(), isa);
  BRIO_CHECK(found != isas_.end() && threads >= 1 && threads <= most_threads(), "{} with {} threads", name(isa),
             threads);
  current_ = devices_[static_cast<size_t>(found - isas_.begin())][static_cast<size_t>(threads - 1)].get();
}

void ProbeDevice::trace_rows(const std::string& name, const ops::Rows& rows, int count) {
  if (trace_ == nullptr) return;
  trace_->add(
      name, count, [&](int i) { return traced_row(i); }, [&](int i) { return current_->read(rows, i); });
}

void ProbeDevice::trace_input(const std::string& name, const ops::Activation& in, int count) {
  if (trace_ == nullptr) return;
  trace_->add(
      name, count, [&](int i) { return traced_row(i); }, [&](int i) { return current_->read(in, i); });
}

void ProbeDevice::embed(const tensor::Weight& table, std::span<const ops::Row> rows, float scale, ops::Rows& x) {
  gathered_.clear();
  current_->embed(table, rows, scale, x);
  if (trace_ != nullptr) trace_->begin_step(rows);
  trace_rows("embedding", x, static_cast<int>(rows.size()));
}

void ProbeDevice::norm(const ops::Rows& x, int num_rows, const tensor::Vector& weight, float epsilon,
                       ops::Activation& out) {
  current_->norm(x, num_rows, weight, epsilon, out);
  trace_input("norm, quantised", out, num_rows);
}

void ProbeDevice::norm_gather(const ops::Rows& x, std::span<const int32_t> row_ids, const tensor::Vector& weight,
                              float epsilon, ops::Activation& out) {
  current_->norm_gather(x, row_ids, weight, epsilon, out);
  gathered_.assign(row_ids.begin(), row_ids.end());
  trace_input("output norm, quantised", out, static_cast<int>(row_ids.size()));
}

void ProbeDevice::norm_add(const ops::Rows& branch, int num_rows, const tensor::Vector& weight, float epsilon,
                           ops::Rows& x) {
  current_->norm_add(branch, num_rows, weight, epsilon, x);
  trace_rows("post-norm", x, num_rows);
}

void ProbeDevice::linear(const ops::Activation& in, int num_rows, std::span<const ops::LinearTask> tasks) {
  current_->linear(in, num_rows, tasks);
  for (size_t t = 0; t < tasks.size(); ++t) {
    trace_rows(
        fmt::format("linear {} of {}, {} x {}", t + 1, tasks.size(), tasks[t].weight->rows(), tasks[t].weight->cols()),
        *tasks[t].y, num_rows);
  }
}

void ProbeDevice::gated_linear(const ops::Activation& in, int num_rows, const tensor::Weight& gate,
                               const tensor::Weight& up, ops::Nonlinearity f, ops::Activation& out) {
  current_->gated_linear(in, num_rows, gate, up, f, out);
  trace_input(fmt::format("gated linear, {} x {}, quantised", gate.rows(), gate.cols()), out, num_rows);
}

void ProbeDevice::rope_and_store(ops::Rows& q, const ops::Rows& k, const ops::Rows& v, const ops::StepRows& step,
                                 const ops::HeadNorms& norms, ops::RopeTable& rope, const tensor::KvLayerView& kv) {
  current_->rope_and_store(q, k, v, step, norms, rope, kv);
  trace_rows("rope", q, static_cast<int>(step.rows.size()));
}

void ProbeDevice::attention(const ops::Rows& q, const ops::StepRows& step, const ops::AttentionShape& shape,
                            const tensor::KvLayerView& kv, ops::Activation& out) {
  const int num_rows = static_cast<int>(step.rows.size());
  if (trace_ != nullptr) {  // what the row is about to read
    const auto read = [&](int r) {
      const ops::Row& row = step.rows[static_cast<size_t>(r)];
      const ops::KeyRange keys = ops::visible_keys(row, *kv.spec);
      std::vector<float> values;
      for (int32_t position = keys.begin; position < keys.end; ++position) {
        for (int head = 0; head < kv.spec->num_kv_heads; ++head) {
          const tensor::StoredToken token = tensor::read_token(kv, row.sequence, position, head);
          values.insert(values.end(), token.key.begin(), token.key.end());
          values.insert(values.end(), token.value.begin(), token.value.end());
        }
      }
      return values;
    };
    trace_->add(
        "keys and values read", num_rows, [](int i) { return i; }, read);
  }
  current_->attention(q, step, shape, kv, out);
  trace_input("attention, quantised", out, num_rows);
}

}  // namespace brio::prove
