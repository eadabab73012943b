#include "tensor/weight.h"

namespace brio::tensor {

kernels::PanelFormat panel_format(DType source, Numerics numerics) {
  using kernels::PanelFormat;
  if (numerics == Numerics::kFp32) return PanelFormat::kF32;
  switch (source) {
    case DType::kF32:
      return PanelFormat::kF32;
    case DType::kF16:
      return PanelFormat::kF16;
    case DType::kBF16:
      return PanelFormat::kBF16;
    case DType::kQ4_0:
      return PanelFormat::kQ4_0;
    case DType::kQ4_1:
      return PanelFormat::kQ4_1;
    case DType::kQ5_0:
      return PanelFormat::kQ5_0;
    case DType::kQ5_1:
      return PanelFormat::kQ5_1;
    case DType::kQ8_0:
      return PanelFormat::kQ8_0;
    case DType::kQ2_K:
      return PanelFormat::kQ2_K;
    case DType::kQ3_K:
      return PanelFormat::kQ3_K;
    case DType::kQ4_K:
      return PanelFormat::kQ4_K;
    case DType::kQ5_K:
      return PanelFormat::kQ5_K;
    case DType::kQ6_K:
      return PanelFormat::kQ6_K;
    case DType::kIQ4_NL:
      return PanelFormat::kIQ4_NL;
    case DType::kIQ4_XS:
      return PanelFormat::kIQ4_XS;
  }
  return PanelFormat::kF32;
}

int64_t packed_bytes(DType source, Numerics numerics, int64_t rows, int64_t cols) {
  return kernels::num_panels(rows) * kernels::panel_bytes(panel_format(source, numerics), static_cast<int>(cols));
}

InputForms input_form(DType source, Numerics numerics) {
  if (numerics == Numerics::kFp32 || source == DType::kF32 || source == DType::kF16) return InputForms::kF32;
  return source == DType::kBF16 ? InputForms::kBF16 : InputForms::kS8;
}

Weight Weight::null(int64_t rows, int64_t cols, InputForms form) {
  Weight weight;
  weight.form_ = form;
  weight.rows_ = rows;
  weight.cols_ = cols;
  return weight;
}

Weight::Weight(DType source, Numerics numerics, int64_t rows, int64_t cols, std::shared_ptr<const std::byte> panels)
    : source_(source),
      numerics_(numerics),
      form_(tensor::input_form(source, numerics)),
      rows_(rows),
      cols_(cols),
      panels_(std::move(panels)) {}

}  // namespace brio::tensor
