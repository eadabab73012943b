// KernelTable: the numeric functions of one instruction set. Chosen once at start (base/cpu.h choose_isa) and passed down;
// every table gives equal bits (DESIGN R9), so the choice is speed alone.
#pragma once

#include "base/cpu.h"
#include "kernels/attention.h"
#include "kernels/linear.h"
#include "kernels/quantize_rows.h"
#include "kernels/row.h"

namespace brio::kernels {

struct KernelTable {
  Isa isa = Isa::kScalar;
  LinearKernels linear;
  QuantizeKernels quantize;
  RowKernels rows;
  AttentionKernels attention;
};

// The table of an ISA. The CPU must support it to run it; machines other than x86-64 have kScalar alone.
const KernelTable& kernel_table(Isa isa);

}  // namespace brio::kernels
