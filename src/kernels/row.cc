#include "kernels/row.h"

namespace brio::kernels {
namespace scalar {
const RowKernels& row_kernels();
}
#if defined(__x86_64__)
namespace avx2 {
const RowKernels& row_kernels();
}
namespace avx512 {
const RowKernels& row_kernels();
}
#endif

const RowKernels& row_kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return avx512::row_kernels();
  if (isa == Isa::kAvx2) return avx2::row_kernels();
#endif
  (void)isa;
  return scalar::row_kernels();
}

}  // namespace brio::kernels
