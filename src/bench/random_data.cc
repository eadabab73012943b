#include "bench/random_data.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"
#include "kernels/linear.h"

namespace brio::bench {
namespace {

constexpr size_t kPatternBytes = size_t{64} << 10;
constexpr uint32_t kBelowOne = 0xB3FFB3FFU;  // of each half: sign, and an exponent below that of 0.5 as f16

std::vector<uint32_t> make_pattern() {
  std::vector<uint32_t> pattern(kPatternBytes / sizeof(uint32_t));
  Rng rng(2);
  for (uint32_t& word : pattern) word = rng.next() & kBelowOne;
  return pattern;
}

tensor::Weight packed(tensor::DType type, int64_t rows, int64_t cols, AlignedBuffer panels) {
  const auto owner = std::make_shared<const AlignedBuffer>(std::move(panels));
  return tensor::Weight(type, tensor::Numerics::kDefault, rows, cols,
                        std::shared_ptr<const std::byte>(owner, owner->data()));
}

}  // namespace

void fill(AlignedBuffer& buffer, ThreadPool& pool) {
  static const std::vector<uint32_t> pattern = make_pattern();
  const size_t size = buffer.size_bytes();
  const int pieces = static_cast<int>((size + kPatternBytes - 1) / kPatternBytes);
  pool.parallel_for(pieces, 16, [&](int begin, int end) {
    for (int piece = begin; piece < end; ++piece) {
      const size_t at = static_cast<size_t>(piece) * kPatternBytes;
      std::memcpy(buffer.data() + at, pattern.data(), std::min(kPatternBytes, size - at));
    }
  });
}

Result<tensor::Weight> random_weight(tensor::DType type, int64_t rows, int64_t cols, ThreadPool& pool) {
  const int64_t bytes = tensor::packed_bytes(type, tensor::Numerics::kDefault, rows, cols);
  BRIO_TRY(AlignedBuffer panels, AlignedBuffer::create(static_cast<size_t>(bytes)));
  fill(panels, pool);
  return packed(type, rows, cols, std::move(panels));
}

Result<ops::Rows> random_rows(ops::OpSet& ops, int num_rows, int width) {
  constexpr int kDistinct = kernels::kPanelRows;
  BRIO_TRY(ops::Rows rows, ops.make_rows(num_rows, width));
  const int64_t bytes = tensor::packed_bytes(tensor::DType::kF32, tensor::Numerics::kDefault, kDistinct, width);
  BRIO_TRY(AlignedBuffer panel, AlignedBuffer::create(static_cast<size_t>(bytes)));
  Rng rng(1);
  for (size_t i = 0; i < panel.size_bytes() / sizeof(float); ++i) panel.as<float>()[i] = rng.uniform(-1.0F, 1.0F);
  const tensor::Weight table = packed(tensor::DType::kF32, kDistinct, width, std::move(panel));
  std::vector<ops::Row> tokens(static_cast<size_t>(num_rows));
  for (int r = 0; r < num_rows; ++r) {
    tokens[static_cast<size_t>(r)].token = r % kDistinct;
    tokens[static_cast<size_t>(r)].position = r + 1;
  }
  ops.embed(table, tokens, 1.0F, rows);
  return rows;
}

Result<ops::Activation> random_activation(ops::OpSet& ops, int num_rows, int width, tensor::InputForms forms) {
  BRIO_TRY(const ops::Rows rows, random_rows(ops, num_rows, width));
  BRIO_TRY(ops::Activation activation, ops.make_activation(num_rows, width, forms));
  ops.norm(rows, num_rows, tensor::Vector(std::vector<float>(static_cast<size_t>(width), 1.0F)), 1e-6F, activation);
  return activation;
}

}  // namespace brio::bench
