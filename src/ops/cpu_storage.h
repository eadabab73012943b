// What the CPU device keeps behind Rows and Activation handles. Included by ops/cpu_*.cc alone.
#pragma once

#include <span>
#include <vector>

#include "base/arena.h"
#include "kernels/linear.h"
#include "kernels/quantize_rows.h"
#include "ops/ops.h"
#include "tensor/weight.h"

namespace brio::ops {

// Indices of the rows at position 0, ascending.
std::vector<int32_t> rows_at_position_0(std::span<const Row> rows);

struct Rows::Storage {
  AlignedBuffer buffer;
  float* data = nullptr;            // [max_rows][stride]
  ptrdiff_t stride = 0;             // kernels::row_stride(width): rows start 64-byte aligned
  std::vector<int32_t> first_rows;  // after embed(): the rows at position 0, ascending
  float* row(int r) const { return data + r * stride; }
};

// Only the forms asked for have memory; the others are null. All forms share one stride, in elements. The s8 form has two
// images of some rows: the value's, and in row num_rows + i that of what quantising row rest_rows[i] left over.
struct Activation::Storage {
  AlignedBuffer buffer;
  int width = 0;
  int num_rows = 0;                // in use
  ptrdiff_t stride = 0;            // kernels::row_stride(width)
  bool all_rests = false;          // every row has a rest (InputForms::kS8Pair); else those at position 0
  std::vector<int32_t> rest_rows;  // ascending; set by start()
  int8_t* values = nullptr;        // s8   [2 * max_rows][stride]
  float* scales = nullptr;         //      [2 * max_rows][stride / 32]
  int16_t* sums = nullptr;         //      [2 * max_rows][stride / 16]
  uint16_t* bf16 = nullptr;        // bf16 [max_rows][stride]
  float* f32 = nullptr;            // fp32 [max_rows][stride]

  // Starts num_rows rows and says which have a rest: those at position 0, or all.
  void start(int num_rows, std::span<const int32_t> first_rows);

  // Writes columns [column, column + x.size()) of row r in every form; column is a multiple of 32, and so is the size
  // unless the columns are the row's last. Any thread, one thread per 32 columns.
  void store(const kernels::QuantizeKernels& kernels, int r, int column, std::span<const float> x);

  // Row r in every form, as fp32: values times scales, the rest's, bf16, fp32.
  std::vector<float> read(int r) const;

  kernels::QuantizedRow quantized_row(int r) const {
    const ptrdiff_t at = r * stride;
    return {values + at, scales + at / kernels::kGroup, sums + at / (kernels::kGroup / 2)};
  }
  // Rows from `first` on, as kernels read them; rests start at row num_rows. Null pointers stay null.
  kernels::LinearInput input(int first) const {
    const ptrdiff_t k = first * stride;
    const kernels::QuantizedRow row = values != nullptr ? quantized_row(first) : kernels::QuantizedRow{};
    return {{row.values, row.scales, row.sums, stride},
            bf16 != nullptr ? bf16 + k : nullptr,
            f32 != nullptr ? f32 + k : nullptr,
            stride};
  }
};

// Zeroed memory for the forms; an error when the system has none left.
Result<std::shared_ptr<Rows::Storage>> make_rows_storage(int max_rows, int width);
Result<std::shared_ptr<Activation::Storage>> make_activation_storage(int max_rows, int width, tensor::InputForms forms);

}  // namespace brio::ops
