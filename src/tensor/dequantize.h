// Reference dequantisation: what the bytes of a block mean, one plain function per DType. It is the specification that
// packed layouts and kernels are tested against, and the exact path of Numerics::kFp32.
//
// Each value is formed by the fp32 roundings of the format's definition, in this order: scale = d * sub-scale,
// offset = dmin * sub-min, value = scale * q - offset (every product and sum rounded once). Results equal those of the
// `gguf` Python package bit for bit (dequantize_test.cc). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace brio::tensor {

// dst[0 .. num_elements) from row_bytes(type, num_elements) bytes at src (any alignment); num_elements must be a
// multiple of the block's elements.
void dequantize_row(DType type, const std::byte* src, int64_t num_elements, float* dst);

}  // namespace brio::tensor
