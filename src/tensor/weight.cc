#include "tensor/weight.h"

namespace brio::tensor {

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

Weight::Weight(DType source, Numerics numerics, int64_t rows, int64_t cols, std::shared_ptr<const AlignedBuffer> panels)
    : source_(source),
      numerics_(numerics),
      form_(tensor::input_form(source, numerics)),
      rows_(rows),
      cols_(cols),
      panels_(std::move(panels)) {}

}  // namespace brio::tensor
