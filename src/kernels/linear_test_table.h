// The linear and quantise tables that a test can run here: the ISAs of this CPU, and AVX-512's bodies on emulated registers
// where the CPU has none (SIMDe, if it is installed). Tests only.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "kernels/linear.h"
#include "kernels/quantize_rows.h"

namespace brio::kernels {

struct LinearTestTable {
  std::string name;
  const LinearKernels* linear;
  const QuantizeKernels* quantize;
};
inline std::ostream& operator<<(std::ostream& out, const LinearTestTable& table) {
  return out << table.name;
}

std::vector<LinearTestTable> linear_test_tables();

}  // namespace brio::kernels
