// Broken operations, each a bug that real engines have (base/breaks.h). Included by ops/cpu_*.cc alone.
#pragma once

#include "base/breaks.h"
#include "kernels/table.h"
#include "ops/ops.h"

namespace brio::ops {

#ifdef BRIO_BREAKS
// The kernels of an ISA in a pool of so many threads, which keep the rules until one is broken:
//   R1  linear layers add two halves of K for more than 8 rows
//   R4  attention of few queries cuts a split in two
//   R8  linear layers add two halves of K on five threads and more
//   R9  the scalar silu takes libm's exp
const kernels::KernelTable& breakable_kernels(Isa isa, int num_threads);
#else
inline const kernels::KernelTable& breakable_kernels(Isa isa, int /*num_threads*/) {
  return kernels::kernel_table(isa);
}
#endif

// R2: all rows of the batch are quantised by the largest scale that one of them has.
void share_scales(Activation::Storage& out);
// R3: CpuOps::norm again for the rows of a batch from the fifth on, with their squares summed one after the other.
void norm_later_rows(const Rows& x, int num_rows, const tensor::Vector& weight, float epsilon,
                     const kernels::QuantizeKernels& kernels, Activation& out);

}  // namespace brio::ops
