// Weight: a matrix W [rows N, cols K] of a linear layer or embedding, packed in brio's one layout (DESIGN section 5), and
// Vector: an fp32 parameter vector (norm weight, bias). Both are opaque outside ops, kernels and the packer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/linear.h"
#include "tensor/device.h"
#include "tensor/dtype.h"

namespace brio::tensor {

// What a weight reads its inputs as; a bit set, so that one Activation can serve weights of mixed types. Of kS8, rows
// at position 0 keep two images, the value's and that of what quantising it left over: 15 bits at twice the integer work.
// The first token's massive activations (Sun et al. 2024) would drown their neighbours in one. kS8Pair is two images of
// every row, for the LM head's input: there the error would reach the logits at once (mean KL of the whole model a quarter
// lower), and a step reads the head for few rows.
enum class InputForms : uint8_t { kNone = 0, kS8 = 1, kBF16 = 2, kF32 = 4, kS8Pair = 8 };
constexpr InputForms operator|(InputForms a, InputForms b) {
  return static_cast<InputForms>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}
constexpr bool contains(InputForms set, InputForms form) {
  return (static_cast<uint8_t>(set) & static_cast<uint8_t>(form)) != 0;
}

// The packed layout of a weight that comes from a tensor of this type; kernels/linear.h has the bytes of each.
kernels::PanelFormat panel_format(DType source, Numerics numerics);

// Bytes of the panels of a matrix of this type and shape, padding included: at most 1.03 times the file's bytes where rows
// are a multiple of 16 and cols one of 256.
int64_t packed_bytes(DType source, Numerics numerics, int64_t rows, int64_t cols);

class Weight {
 public:
  Weight() = default;
  // A weight of the null device: a shape without bytes.
  static Weight null(int64_t rows, int64_t cols, InputForms form = InputForms::kS8);
  // Packed panels of the CPU, packed_bytes() of them, 64-byte aligned; made by weights/packer or mapped from a packed file.
  Weight(DType source, Numerics numerics, int64_t rows, int64_t cols, std::shared_ptr<const std::byte> panels);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  DType source() const { return source_; }         // the file's type
  Numerics numerics() const { return numerics_; }  // kFp32: the panels hold fp32 whatever the source
  InputForms input_form() const { return form_; }
  kernels::PanelFormat format() const { return panel_format(source_, numerics_); }
  int64_t size_bytes() const { return panels_ ? packed_bytes(source_, numerics_, rows_, cols_) : 0; }
  const std::byte* panels() const { return panels_.get(); }
  explicit operator bool() const { return rows_ > 0; }

 private:
  DType source_ = DType::kF32;
  Numerics numerics_ = Numerics::kDefault;
  InputForms form_ = InputForms::kNone;
  int64_t rows_ = 0;
  int64_t cols_ = 0;
  std::shared_ptr<const std::byte> panels_;  // shared: tied embeddings use one copy for look-up and LM head
};

class Vector {
 public:
  Vector() = default;
  explicit Vector(std::vector<float> values) : values_(std::move(values)) {}
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  std::span<const float> values() const { return values_; }
  explicit operator bool() const { return !values_.empty(); }

 private:
  std::vector<float> values_;
};

// The form a weight of this type reads: K-quants and legacy quants s8, BF16 bf16, F16 and F32 fp32; kFp32 always fp32.
InputForms input_form(DType source, Numerics numerics);

}  // namespace brio::tensor
