// The row and attention tables that a test can run here: the ISAs of this CPU, and AVX-512's bodies on emulated registers
// where the CPU has none (SIMDe, if it is installed). Tests only.
#pragma once

#include <string>
#include <vector>

#include "kernels/attention.h"
#include "kernels/row.h"

namespace brio::kernels {

struct TableUnderTest {
  std::string name;
  const RowKernels* row;
  const AttentionKernels* attention;
};

std::vector<TableUnderTest> tables_under_test();

}  // namespace brio::kernels
