// Attention kernels for avx512: kernels/generic/attention*.inl compiled for it.

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "base/target.h"
#include "kernels/attention.h"
#include "kernels/quads.h"
#include "kernels/vector.h"

BRIO_SILENCE_GCC12_AVX512
BRIO_TARGET_BEGIN_AVX512
namespace brio::kernels::avx512 {
// clang-format off
#include "kernels/isa/avx512/vector.inl"
#include "kernels/generic/math.inl"
#include "kernels/generic/attention_tile.inl"
#include "kernels/generic/attention.inl"
#include "kernels/isa/avx512/quads.inl"
#include "kernels/generic/attention_int8.inl"
#include "kernels/generic/attention_table.inl"
// clang-format on

const AttentionKernels& attention_kernels() {
  return kAttentionKernels;
}
}  // namespace brio::kernels::avx512
BRIO_TARGET_END
#endif
