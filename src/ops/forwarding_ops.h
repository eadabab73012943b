// ForwardingOps: a device around another one. What only makes handles, reads them or counts goes on to the inner device;
// the operations are for the wrapper to say.
#pragma once

#include "ops/ops.h"

namespace brio::ops {

class ForwardingOps : public OpSet {
 public:
  tensor::Device device() const override { return inner().device(); }
  tensor::Numerics numerics() const override { return inner().numerics(); }
  Result<Rows> make_rows(int max_rows, int width) override { return inner().make_rows(max_rows, width); }
  Result<Activation> make_activation(int max_rows, int width, tensor::InputForms forms) override {
    return inner().make_activation(max_rows, width, forms);
  }
  std::span<const float> read(const Rows& rows, int row) const override { return inner().read(rows, row); }
  std::vector<float> read(const Activation& in, int row) const override { return inner().read(in, row); }
  int64_t weight_passes() const override { return inner().weight_passes(); }

 protected:
  virtual OpSet& inner() const = 0;
};

}  // namespace brio::ops
