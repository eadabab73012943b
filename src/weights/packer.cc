#include "weights/packer.h"

#include <vector>

#include "kernels/linear_pack.h"
#include "tensor/dequantize.h"

namespace brio::weights {
namespace {

using kernels::kPanelRows;
using tensor::DType;
using tensor::Numerics;

constexpr int64_t kMostRows = int64_t{1} << 27;  // panel and row numbers are ints in kernels
constexpr int64_t kMostCols = int64_t{1} << 20;  // |int32 sums| and 16 fp32 rows per thread stay small

Result<void> check_shape(const TensorView& source) {
  const tensor::DTypeTraits& type = tensor::traits(source.dtype);
  if (source.rows <= 0 || source.cols <= 0 || source.cols % type.block_elements != 0) {
    return error(ErrorCode::kInvalidFile, "tensor '{}' is {} x {}, which {} cannot be", source.name, source.rows,
                 source.cols, type.name);
  }
  if (source.rows > kMostRows || source.cols > kMostCols) {
    return error(ErrorCode::kUnsupported, "tensor '{}' is {} x {}; the most is {} x {}", source.name, source.rows,
                 source.cols, kMostRows, kMostCols);
  }
  const int64_t bytes = source.rows * tensor::row_bytes(source.dtype, source.cols);
  if (source.data == nullptr || source.size_bytes != bytes) {
    return error(ErrorCode::kInvalidFile, "tensor '{}' has {} bytes, its shape needs {}", source.name,
                 source.size_bytes, bytes);
  }
  return {};
}

// Start of each of the panel's rows in the file, null past the last one.
struct SourceRows {
  SourceRows(const TensorView& source, int panel) {
    const int64_t bytes = tensor::row_bytes(source.dtype, source.cols);
    for (int i = 0; i < kPanelRows; ++i) {
      const int64_t row = int64_t{panel} * kPanelRows + i;
      start[i] = row < source.rows ? source.data + row * bytes : nullptr;
    }
  }
  const std::byte* start[kPanelRows];
};

void pack_fp32(const TensorView& source, int panel, std::vector<float>& scratch, std::byte* out) {
  const SourceRows rows(source, panel);
  const float* values[kPanelRows] = {};
  scratch.resize(static_cast<size_t>(kPanelRows * source.cols));
  for (int i = 0; i < kPanelRows; ++i) {
    if (rows.start[i] == nullptr) continue;
    float* row = scratch.data() + i * source.cols;
    tensor::dequantize_row(source.dtype, rows.start[i], source.cols, row);
    values[i] = row;
  }
  kernels::pack_panel_f32(values, static_cast<int>(source.cols), out);
}

}  // namespace

Result<tensor::Weight> pack(const TensorView& source, Numerics numerics, ThreadPool& pool) {
  BRIO_TRY_OK(check_shape(source));
  const kernels::PanelFormat format = tensor::panel_format(source.dtype, numerics);
  const int k = static_cast<int>(source.cols);
  const int panels = kernels::num_panels(source.rows);
  const int64_t bytes = kernels::panel_bytes(format, k);
  BRIO_TRY(AlignedBuffer buffer, AlignedBuffer::create(static_cast<size_t>(panels) * bytes));
  const bool widen = numerics == Numerics::kFp32 && source.dtype != DType::kF32;
  constexpr int kPanelsAtATime = 4;
  pool.parallel_for(panels, kPanelsAtATime, [&](int begin, int end) {
    std::vector<float> scratch;
    for (int panel = begin; panel < end; ++panel) {
      std::byte* out = buffer.data() + panel * bytes;
      if (widen) {
        pack_fp32(source, panel, scratch, out);
      } else {
        kernels::pack_panel(format, SourceRows(source, panel).start, k, out);
      }
    }
  });
  return tensor::Weight(source.dtype, numerics, source.rows, source.cols,
                        std::make_shared<const AlignedBuffer>(std::move(buffer)));
}

}  // namespace brio::weights
