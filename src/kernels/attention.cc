#include "kernels/attention.h"

namespace brio::kernels {
namespace scalar {
const AttentionKernels& attention_kernels();
}
#if defined(__x86_64__)
namespace avx2 {
const AttentionKernels& attention_kernels();
}
namespace avx512 {
const AttentionKernels& attention_kernels();
}
#endif

const AttentionKernels& attention_kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return avx512::attention_kernels();
  if (isa == Isa::kAvx2) return avx2::attention_kernels();
#endif
  (void)isa;
  return scalar::attention_kernels();
}

}  // namespace brio::kernels
