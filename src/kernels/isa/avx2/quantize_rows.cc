// Quantised rows for avx2: generic/quantize_rows.inl compiled for it.

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/target.h"
#include "kernels/lines.h"

BRIO_TARGET_BEGIN_AVX2
namespace brio::kernels::avx2 {
// clang-format off
#include "kernels/isa/avx2/vector.inl"
#include "kernels/isa/avx2/lines.inl"
#include "kernels/generic/quantize_rows.inl"
// clang-format on

const QuantizeKernels& quantize_kernels() {
  return kQuantizeKernels;
}
}  // namespace brio::kernels::avx2
BRIO_TARGET_END
#endif
