// Linear kernels for avx512: generic/linear_*.inl compiled for it.

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/target.h"
#include "kernels/lines.h"

BRIO_SILENCE_GCC12_AVX512
BRIO_TARGET_BEGIN_AVX512
namespace brio::kernels::avx512 {
// clang-format off
#include "kernels/isa/avx512/vector.inl"
#include "kernels/isa/avx512/lines.inl"
#include "kernels/generic/linear_sources.inl"
#include "kernels/generic/linear_tile.inl"
#include "kernels/generic/linear_floats.inl"
#include "kernels/generic/linear_kernels.inl"
// clang-format on

const LinearKernels& linear_kernels() {
  return kLinearKernels;
}
}  // namespace brio::kernels::avx512
BRIO_TARGET_END
#endif
