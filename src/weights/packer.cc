#include "weights/packer.h"

#include <algorithm>
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
// Of the view, for each thread, between two calls of `read`: a millisecond or more, far longer than a wake-up.
constexpr int64_t kStripBytes = 4 << 20;
constexpr int64_t kMostStripBytes = 64 << 20;

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

Result<void> check_shape(std::string_view name, DType dtype, int64_t rows, int64_t cols) {
  const tensor::DTypeTraits& type = tensor::traits(dtype);
  if (rows <= 0 || cols <= 0 || cols % type.block_elements != 0) {
    return error(ErrorCode::kInvalidFile, "tensor '{}' is {} x {}, which {} cannot be", name, rows, cols, type.name);
  }
  if (rows > kMostRows || cols > kMostCols) {
    return error(ErrorCode::kUnsupported, "tensor '{}' is {} x {}; the most is {} x {}", name, rows, cols, kMostRows,
                 kMostCols);
  }
  return {};
}

Result<tensor::Weight> pack(const TensorView& source, Numerics numerics, ThreadPool& pool,
                            const std::function<void(int64_t num_bytes)>& read) {
  BRIO_TRY_OK(check_shape(source.name, source.dtype, source.rows, source.cols));
  const int64_t row_bytes = tensor::row_bytes(source.dtype, source.cols);
  if (source.data == nullptr || source.size_bytes != source.rows * row_bytes) {
    return error(ErrorCode::kInvalidFile, "tensor '{}' has {} bytes, its shape needs {}", source.name,
                 source.size_bytes, source.rows * row_bytes);
  }
  const kernels::PanelFormat format = tensor::panel_format(source.dtype, numerics);
  const int k = static_cast<int>(source.cols);
  const int panels = kernels::num_panels(source.rows);
  const int64_t bytes = kernels::panel_bytes(format, k);
  BRIO_TRY(AlignedBuffer buffer, AlignedBuffer::create(static_cast<size_t>(panels) * bytes));
  const bool widen = numerics == Numerics::kFp32 && source.dtype != DType::kF32;
  const auto pack_panels = [&](int begin, int end) {
    std::vector<float> scratch;
    for (int panel = begin; panel < end; ++panel) {
      std::byte* out = buffer.data() + panel * bytes;
      if (widen) {
        pack_fp32(source, panel, scratch, out);
      } else {
        kernels::pack_panel(format, SourceRows(source, panel).start, k, out);
      }
    }
  };
  const int64_t strip_bytes = std::min(kMostStripBytes, kStripBytes * pool.num_threads());
  const int strip = static_cast<int>(std::max<int64_t>(1, strip_bytes / (kPanelRows * row_bytes)));
  constexpr int kPanelsAtATime = 4;
  for (int first = 0; first < panels; first += strip) {
    const int count = std::min(strip, panels - first);
    pool.parallel_for(count, kPanelsAtATime, [&](int begin, int end) { pack_panels(first + begin, first + end); });
    if (read) read(std::min(source.rows, int64_t{first + count} * kPanelRows) * row_bytes);
  }
  auto owner = std::make_shared<const AlignedBuffer>(std::move(buffer));
  return tensor::Weight(source.dtype, numerics, source.rows, source.cols, {owner, owner->data()});
}

}  // namespace brio::weights
