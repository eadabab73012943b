// Linear kernels for scalar: generic/linear_*.inl compiled for it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Every operation is a call: inlined, their loops over lanes take compilers minutes and run hardly faster.
#define BRIO_LANE_INLINE inline __attribute__((noinline))
#include "kernels/lines.h"

namespace brio::kernels::scalar {
// clang-format off
#include "kernels/isa/scalar/vector.inl"
#include "kernels/isa/scalar/lines.inl"
#include "kernels/generic/linear_sources.inl"
#include "kernels/generic/linear_tile.inl"
#include "kernels/generic/linear_floats.inl"
#include "kernels/generic/linear_kernels.inl"
// clang-format on

const LinearKernels& linear_kernels() {
  return kLinearKernels;
}
}  // namespace brio::kernels::scalar
