// Packing: from a tensor of a file to a Weight in brio's one layout (kernels/linear.h), the last step of loading. No
// rounding: kDefault moves the file's integers and scales, kFp32 dequantises exactly to fp32 panels.
//
// Reads the view once, front to back, a few megabytes at a time. Giving their pages back is the caller's (Checkpoint::drop).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/thread_pool.h"
#include "tensor/weight.h"
#include "weights/checkpoint.h"

namespace brio::weights {

// What pack takes and packed files hold. Errors: kInvalidFile for a shape that its type cannot have, kUnsupported for one
// beyond the kernels' range.
Result<void> check_shape(std::string_view name, tensor::DType type, int64_t rows, int64_t cols);

// `read`, on the calling thread and now and then: so many bytes of the view, from its start, will not be read again.
// Errors: those of check_shape, kInvalidFile for a view of another size than its shape's, kOutOfMemory.
Result<tensor::Weight> pack(const TensorView& source, tensor::Numerics numerics, ThreadPool& pool,
                            const std::function<void(int64_t num_bytes)>& read = nullptr);

}  // namespace brio::weights
