// Packing: from a tensor of a file to a Weight in brio's one layout (kernels/linear.h), the last step of loading. No
// rounding: kDefault moves the file's integers and scales, kFp32 dequantises exactly to fp32 panels.
//
// Reads the view once, front to back; giving its pages back afterwards is the caller's (Checkpoint::drop).
#pragma once

#include "base/result.h"
#include "base/thread_pool.h"
#include "tensor/weight.h"
#include "weights/checkpoint.h"

namespace brio::weights {

// Errors: kInvalidFile for a shape that its type cannot have, kUnsupported for one beyond the kernels' range,
// kOutOfMemory.
Result<tensor::Weight> pack(const TensorView& source, tensor::Numerics numerics, ThreadPool& pool);

}  // namespace brio::weights
