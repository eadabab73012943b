#include "kernels/table.h"

namespace brio::kernels {
namespace {

KernelTable make_table(Isa isa) {
  return {isa, linear_kernels(isa), quantize_kernels(isa), row_kernels(isa), attention_kernels(isa)};
}

}  // namespace

const KernelTable& kernel_table(Isa isa) {
  static const KernelTable kTables[] = {make_table(Isa::kScalar), make_table(Isa::kAvx2), make_table(Isa::kAvx512)};
  return kTables[static_cast<int>(isa)];
}

}  // namespace brio::kernels
