// Quantised rows for scalar: generic/quantize_rows.inl compiled for it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/lines.h"

namespace brio::kernels::scalar {
// clang-format off
#include "kernels/isa/scalar/vector.inl"
#include "kernels/isa/scalar/lines.inl"
#include "kernels/generic/quantize_rows.inl"
// clang-format on

const QuantizeKernels& quantize_kernels() {
  return kQuantizeKernels;
}
}  // namespace brio::kernels::scalar
