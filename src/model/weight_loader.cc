#include "model/weight_loader.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "tensor/dequantize.h"
#include "weights/packer.h"

namespace brio::model {
namespace {

std::string layer_name(int layer, std::string_view name) {
  return fmt::format("blk.{}.{}", layer, name);
}

}  // namespace

WeightLoader::WeightLoader(const weights::Checkpoint& checkpoint, tensor::Numerics numerics, ThreadPool& pool,
                           const BuildOptions& options)
    : checkpoint_(&checkpoint), numerics_(numerics), pool_(&pool), options_(options) {
  if (numerics != tensor::Numerics::kDefault)
    options_.packed = nullptr;  // exact fp32 weights are large and for checking
  for (const auto& tensor : checkpoint.tensors()) total_bytes_ += tensor.size_bytes;
}

bool WeightLoader::has(std::string_view name) const {
  return checkpoint_ != nullptr && checkpoint_->has_tensor(name);
}

Result<tensor::Weight> WeightLoader::matrix(std::string_view name, int64_t rows, int64_t cols) {
  if (checkpoint_ == nullptr) return tensor::Weight::null(rows, cols);
  used_.emplace(name);
  weights::PackedCache* const cache = options_.packed;
  if (cache != nullptr) {
    BRIO_TRY(const tensor::DType dtype, checkpoint_->dtype(name, rows, cols));
    if (std::optional<tensor::Weight> mapped = cache->find(name, dtype, rows, cols)) {
      packed_bytes_ += mapped->size_bytes();
      report(rows * tensor::row_bytes(dtype, cols));
      return *std::move(mapped);
    }
  }
  BRIO_TRY(tensor::Weight weight, pack(name, rows, cols));
  if (cache != nullptr) cache->add(name, weight);
  packed_bytes_ += weight.size_bytes();
  return weight;
}

Result<tensor::Weight> WeightLoader::pack(std::string_view name, int64_t rows, int64_t cols) {
  BRIO_TRY(const weights::TensorView view, checkpoint_->tensor(name, rows, cols));
  if (view.owned) checkpoint_->drop(view);  // a copy: the file has been read
  int64_t done = 0;
  return weights::pack(view, numerics_, *pool_, [&](int64_t num_bytes) {
    if (!view.owned) checkpoint_->drop(view, num_bytes);
    report(num_bytes - std::exchange(done, num_bytes));
  });
}

Result<tensor::Weight> WeightLoader::matrix(int layer, std::string_view name, int64_t rows, int64_t cols) {
  return matrix(layer_name(layer, name), rows, cols);
}

Result<tensor::Vector> WeightLoader::vector(std::string_view name, int64_t size) {
  if (checkpoint_ == nullptr) return tensor::Vector(std::vector<float>(static_cast<size_t>(size), 1.0F));
  used_.emplace(name);
  BRIO_TRY(std::vector<float> values, checkpoint_->vector(name, size));
  packed_bytes_ += size * static_cast<int64_t>(sizeof(float));
  report(size * static_cast<int64_t>(sizeof(float)));
  return tensor::Vector(std::move(values));
}

Result<tensor::Vector> WeightLoader::vector(int layer, std::string_view name, int64_t size) {
  return vector(layer_name(layer, name), size);
}

Result<tensor::Vector> WeightLoader::vector_or_none(int layer, std::string_view name, int64_t size) {
  const std::string full = layer_name(layer, name);
  if (!has(full)) return tensor::Vector();
  return vector(full, size);
}

Result<std::vector<float>> WeightLoader::row_norms(int layer, std::string_view name, int64_t rows,
                                                   std::span<const float> column_weights) const {
  std::vector<float> norms(static_cast<size_t>(rows), 1.0F);
  if (checkpoint_ == nullptr) return norms;
  const auto cols = static_cast<int64_t>(column_weights.size());
  BRIO_TRY(const weights::TensorView view, checkpoint_->tensor(layer_name(layer, name), rows, cols));
  constexpr int kRowsAtATime = 16;
  pool_->parallel_for(static_cast<int>(rows), kRowsAtATime, [&](int begin, int end) {
    std::vector<float> row(column_weights.size());
    for (int r = begin; r < end; ++r) {
      tensor::dequantize_row(view.dtype, view.data + r * tensor::row_bytes(view.dtype, cols), cols, row.data());
      double squares = 0.0;
      for (size_t c = 0; c < row.size(); ++c) {
        const double x = double{row[c]} * double{column_weights[c]};
        squares += x * x;
      }
      norms[static_cast<size_t>(r)] = static_cast<float>(std::sqrt(squares));
    }
  });
  checkpoint_->drop(view);
  return norms;
}

Result<void> WeightLoader::require(int layer, std::string_view name) const {
  if (checkpoint_ == nullptr) return {};
  const auto found = checkpoint_->tensor(layer_name(layer, name));
  return found.ok() ? Result<void>() : found.error();
}

Result<void> WeightLoader::check_all_used(std::string_view architecture) const {
  if (checkpoint_ == nullptr) return {};
  for (const auto& tensor : checkpoint_->tensors()) {
    if (tensor.name == "rope_freqs.weight" || used_.contains(std::string(tensor.name))) continue;
    return error(ErrorCode::kUnsupported, "{}: tensor '{}' has no place in architecture {}",
                 checkpoint_->path().string(), tensor.name, architecture);
  }
  return {};
}

void WeightLoader::report(int64_t source_bytes) {
  done_bytes_ += source_bytes;
  if (options_.progress == nullptr || total_bytes_ == 0) return;
  options_.progress(options_.progress_context, static_cast<double>(done_bytes_) / static_cast<double>(total_bytes_));
}

}  // namespace brio::model
