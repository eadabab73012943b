// Linear kernels for scalar: generic/linear_*.inl compiled for it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/lines.h"

namespace brio::kernels::scalar {
#include "kernels/isa/scalar/vector.inl"
#include "kernels/isa/scalar/lines.inl"
#include "kernels/generic/linear_sources.inl"
#include "kernels/generic/linear_tile.inl"
#include "kernels/generic/linear_floats.inl"
#include "kernels/generic/linear_kernels.inl"

const LinearKernels& linear_kernels() { return kLinearKernels; }
}  // namespace brio::kernels::scalar
