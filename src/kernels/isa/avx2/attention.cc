// Attention kernels for avx2: kernels/generic/attention*.inl compiled for it.

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "base/target.h"
#include "kernels/attention.h"
#include "kernels/quads.h"
#include "kernels/vector.h"

BRIO_TARGET_BEGIN_AVX2
namespace brio::kernels::avx2 {
// clang-format off
#include "kernels/isa/avx2/vector.inl"
#include "kernels/generic/math.inl"
#include "kernels/generic/attention_tile.inl"
#include "kernels/generic/attention.inl"
#include "kernels/isa/avx2/quads.inl"
#include "kernels/generic/attention_int8.inl"
#include "kernels/generic/attention_table.inl"
// clang-format on

const AttentionKernels& attention_kernels() {
  return kAttentionKernels;
}
}  // namespace brio::kernels::avx2
BRIO_TARGET_END
#endif
