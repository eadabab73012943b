// Attention kernels for scalar: kernels/generic/attention*.inl compiled for it.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/attention.h"
#define BRIO_LANE_INLINE inline __attribute__((noinline))
#include "kernels/quads.h"
#include "kernels/vector.h"

namespace brio::kernels::scalar {
// clang-format off
#include "kernels/isa/scalar/vector.inl"
#include "kernels/generic/math.inl"
#include "kernels/generic/attention_tile.inl"
#include "kernels/generic/attention.inl"
#include "kernels/isa/scalar/quads.inl"
#include "kernels/generic/attention_int8.inl"
#include "kernels/generic/attention_table.inl"
// clang-format on

const AttentionKernels& attention_kernels() {
  return kAttentionKernels;
}
}  // namespace brio::kernels::scalar
