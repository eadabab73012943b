// Row kernels for scalar: kernels/generic/row.inl compiled for it.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/row.h"
#define BRIO_LANE_INLINE inline __attribute__((noinline))
#include "kernels/vector.h"

namespace brio::kernels::scalar {
// clang-format off
#include "kernels/isa/scalar/vector.inl"
#include "kernels/generic/math.inl"
#include "kernels/generic/row.inl"
// clang-format on

const RowKernels& row_kernels() {
  return kRowKernels;
}
}  // namespace brio::kernels::scalar
