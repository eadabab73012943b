// Row kernels for avx2: kernels/generic/row.inl compiled for it.

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "base/target.h"
#include "kernels/row.h"
#include "kernels/vector.h"

BRIO_TARGET_BEGIN_AVX2
namespace brio::kernels::avx2 {
// clang-format off
#include "kernels/isa/avx2/vector.inl"
#include "kernels/generic/math.inl"
#include "kernels/generic/row.inl"
// clang-format on

const RowKernels& row_kernels() {
  return kRowKernels;
}
}  // namespace brio::kernels::avx2
BRIO_TARGET_END
#endif
