// The specification of linear layers and of quantised rows in plain C++ (linear.h, quantize_rows.h): one output at a time,
// from the bytes of the file. Tests compare every ISA with it bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/linear.h"

namespace brio::kernels {

// weight: n rows of the GGUF type, each k elements. x, num_rows and out as for LinearKernels::linear.
void linear_reference(PanelFormat format, const std::byte* weight, int n, int k, const LinearInput& x, int num_rows,
                      const LinearOutput& out);

void quantize_row_reference(const float* x, int k, QuantizedRow out);
void round_row_bf16_reference(const float* x, int k, uint16_t* out);

}  // namespace brio::kernels
