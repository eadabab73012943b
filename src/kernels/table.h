// KernelTable: the numeric functions of one instruction set. Chosen once at start (base/cpu.h choose_isa) and passed down;
// every table gives equal bits (DESIGN R9), so the choice is speed alone.
#pragma once

#include "base/cpu.h"
#include "kernels/linear.h"
#include "kernels/quantize_rows.h"

namespace brio::kernels {

struct KernelTable {
  Isa isa = Isa::kScalar;
  QuantizeKernels quantize;
  LinearKernels linear;
};

// The table of an ISA that this build has; kScalar is always there. The CPU must support it to run it.
const KernelTable& kernel_table(Isa isa);

}  // namespace brio::kernels
