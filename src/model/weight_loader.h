// WeightLoader: hands an architecture its weights by GGUF name, checked against the shape it expects, packed for the
// device or mapped from a packed file. Pages of the model's file are dropped as soon as they are packed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/model.h"
#include "tensor/weight.h"
#include "weights/checkpoint.h"

namespace brio::model {

class WeightLoader {
 public:
  // On the CPU: checkpoint and pool must outlive the loader.
  WeightLoader(const weights::Checkpoint& checkpoint, tensor::Numerics numerics, ThreadPool& pool,
               const BuildOptions& options);
  // On the null device: every weight exists, with no bytes.
  WeightLoader() = default;

  bool has(std::string_view name) const;
  // W [rows, cols], or b [size]; errors name the tensor and both shapes.
  Result<tensor::Weight> matrix(std::string_view name, int64_t rows, int64_t cols);
  Result<tensor::Weight> matrix(int layer, std::string_view name, int64_t rows, int64_t cols);
  Result<tensor::Vector> vector(std::string_view name, int64_t size);
  Result<tensor::Vector> vector(int layer, std::string_view name, int64_t size);
  // Empty where the file has none.
  Result<tensor::Vector> vector_or_none(int layer, std::string_view name, int64_t size);

  // The L2 norm of each row of W diag(column_weights): the standard deviation of its output for inputs x column_weights
  // where x has independent channels of variance 1.                                                           [rows]
  Result<std::vector<float>> row_norms(int layer, std::string_view name, int64_t rows,
                                       std::span<const float> column_weights) const;

  Result<void> require(int layer, std::string_view name) const;  // an error that names the tensor if it is missing

  // Call when all is loaded: a tensor that nobody asked for would mean another function than the file's.
  Result<void> check_all_used(std::string_view architecture) const;

  int64_t packed_bytes() const { return packed_bytes_; }

 private:
  Result<tensor::Weight> pack(std::string_view name, int64_t rows, int64_t cols);
  void report(int64_t source_bytes);

  const weights::Checkpoint* checkpoint_ = nullptr;
  tensor::Numerics numerics_ = tensor::Numerics::kDefault;
  ThreadPool* pool_ = nullptr;
  BuildOptions options_;
  int64_t total_bytes_ = 0;
  int64_t done_bytes_ = 0;
  int64_t packed_bytes_ = 0;
  std::unordered_set<std::string> used_;
};

}  // namespace brio::model
