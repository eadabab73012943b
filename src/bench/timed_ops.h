// TimedOps: a device that hands every operation through to another one and, on request, adds up how long each took. Off, it
// costs a virtual call; benches switch it on for runs of their own, never for those that they report rates of.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "ops/forwarding_ops.h"

namespace brio::bench {

class TimedOps final : public ops::ForwardingOps {
 public:
  struct Total {
    Duration time{};
    int64_t calls = 0;
    bool is_linear = false;  // multiplies by weights, or quantises what they read
  };
  using Totals = std::map<std::string, Total>;  // by operation and shape: "linear 2048x1536", "attention"

  explicit TimedOps(std::unique_ptr<ops::OpSet> device, const Clock& clock = Clock::steady())
      : device_(std::move(device)), clock_(clock) {}

  void start() {
    totals_.clear();
    on_ = true;
  }
  void stop() { on_ = false; }
  const Totals& totals() const { return totals_; }

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
  ops::OpSet& inner() const override { return *device_; }
  enum class Kind : bool { kOther, kLinear };
  // Runs the operation; if on, adds its time to the entry that name() gives.
  template <typename Name, typename Operation>
  void timed(Kind kind, const Name& name, const Operation& operation);

  std::unique_ptr<ops::OpSet> device_;
  const Clock& clock_;
  bool on_ = false;
  Totals totals_;
};

}  // namespace brio::bench
