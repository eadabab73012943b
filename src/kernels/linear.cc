#include "kernels/linear.h"

namespace brio::kernels {
namespace scalar {
const LinearKernels& linear_kernels();
const QuantizeKernels& quantize_kernels();
}  // namespace scalar
#if defined(__x86_64__)
namespace avx2 {
const LinearKernels& linear_kernels();
const QuantizeKernels& quantize_kernels();
}  // namespace avx2
namespace avx512 {
const LinearKernels& linear_kernels();
const QuantizeKernels& quantize_kernels();
}  // namespace avx512
#endif

const LinearKernels& linear_kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return avx512::linear_kernels();
  if (isa == Isa::kAvx2) return avx2::linear_kernels();
#endif
  (void)isa;
  return scalar::linear_kernels();
}

const QuantizeKernels& quantize_kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return avx512::quantize_kernels();
  if (isa == Isa::kAvx2) return avx2::quantize_kernels();
#endif
  (void)isa;
  return scalar::quantize_kernels();
}

}  // namespace brio::kernels
