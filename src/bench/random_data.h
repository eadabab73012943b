// Made-up operands for benches: finite and of a moderate size, whatever the format, so that no arithmetic meets a NaN or a
// denormal. Times do not depend on values beyond that.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "ops/ops.h"
#include "tensor/weight.h"

namespace brio::bench {

// Every page is written, in words whose f16 and bf16 halves are below 1 in magnitude.
void fill(AlignedBuffer& buffer, ThreadPool& pool);

// A weight [rows, cols] in the packed layout of its type.
Result<tensor::Weight> random_weight(tensor::DType type, int64_t rows, int64_t cols, ThreadPool& pool);

// Rows of activations, [num_rows, width], values in [-1, 1); none is at position 0 (those cost more in linear layers).
Result<ops::Rows> random_rows(ops::OpSet& ops, int num_rows, int width);

// The same as a linear layer's input in these forms, through the production norm.
Result<ops::Activation> random_activation(ops::OpSet& ops, int num_rows, int width, tensor::InputForms forms);

}  // namespace brio::bench
