// Row kernels for avx2: kernels/generic/row.inl compiled for it.

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "kernels/row.h"
#include "kernels/vector.h"
#include "base/target.h"

BRIO_TARGET_BEGIN_AVX2
namespace brio::kernels::avx2 {
#include "kernels/isa/avx2/vector.inl"
#include "kernels/generic/math.inl"
#include "kernels/generic/row.inl"

const RowKernels& row_kernels() { return kRowKernels; }
}  // namespace brio::kernels::avx2
BRIO_TARGET_END
#endif
