// Quantised rows for avx512: generic/quantize_rows.inl compiled for it.

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
#include "kernels/generic/quantize_rows.inl"
// clang-format on

const QuantizeKernels& quantize_kernels() {
  return kQuantizeKernels;
}
}  // namespace brio::kernels::avx512
BRIO_TARGET_END
#endif
