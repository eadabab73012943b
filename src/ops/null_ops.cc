#include "ops/null_ops.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/rng.h"
#include "ops/cpu_storage.h"  // Storage is one type in the program; here it stays empty

namespace brio::ops {

NullOps::NullOps(uint64_t seed) : seed_(seed) {}
NullOps::~NullOps() = default;

Result<Rows> NullOps::make_rows(int max_rows, int width) {
  auto storage = std::make_shared<Rows::Storage>();
  storages_.push_back(storage);
  contents_[storage.get()].origins.resize(static_cast<size_t>(max_rows));
  return Rows(std::move(storage), max_rows, width);
}

Result<Activation> NullOps::make_activation(int max_rows, int width, tensor::InputForms /*forms*/) {
  auto storage = std::make_shared<Activation::Storage>();
  storages_.push_back(storage);
  contents_[storage.get()].origins.resize(static_cast<size_t>(max_rows));
  return Activation(std::move(storage), max_rows, width);
}

std::vector<NullOps::Origin>& NullOps::origins(const Rows& rows) {
  const auto found = contents_.find(rows.storage());
  BRIO_CHECK(found != contents_.end(), "rows of another device");
  return found->second.origins;
}

std::vector<NullOps::Origin>& NullOps::origins(const Activation& activation) {
  const auto found = contents_.find(activation.storage());
  BRIO_CHECK(found != contents_.end(), "an activation of another device");
  return found->second.origins;
}

void NullOps::copy(const std::vector<Origin>& from, int num_rows, std::vector<Origin>& to) {
  BRIO_CHECK(
      num_rows >= 0 && static_cast<size_t>(num_rows) <= from.size() && static_cast<size_t>(num_rows) <= to.size(),
      "{} rows from {} to {}", num_rows, from.size(), to.size());
  std::copy_n(from.begin(), num_rows, to.begin());
}

void NullOps::embed(const tensor::Weight& table, std::span<const Row> rows, float /*scale*/, Rows& x) {
  BRIO_CHECK(table.cols() == x.width() && static_cast<int>(rows.size()) <= x.max_rows(),
             "embed {} rows of {} into {} of {}", rows.size(), table.cols(), x.max_rows(), x.width());
  std::vector<Origin>& to = origins(x);
  for (size_t r = 0; r < rows.size(); ++r) {
    BRIO_CHECK(rows[r].token >= 0 && rows[r].token < table.rows(), "token {} of {}", rows[r].token, table.rows());
    to[r] = {rows[r].token, rows[r].position};
  }
}

void NullOps::norm(const Rows& x, int num_rows, const tensor::Vector& weight, float /*epsilon*/, Activation& out) {
  BRIO_CHECK(x.width() == out.width() && weight.size() == x.width(), "norm of {} with {} into {}", x.width(),
             weight.size(), out.width());
  copy(origins(x), num_rows, origins(out));
}

void NullOps::norm_gather(const Rows& x, std::span<const int32_t> row_ids, const tensor::Vector& weight,
                          float /*epsilon*/, Activation& out) {
  BRIO_CHECK(
      x.width() == out.width() && weight.size() == x.width() && static_cast<int>(row_ids.size()) <= out.max_rows(),
      "norm of {} rows of {} into {} of {}", row_ids.size(), x.width(), out.max_rows(), out.width());
  const std::vector<Origin>& from = origins(x);
  std::vector<Origin>& to = origins(out);
  for (size_t i = 0; i < row_ids.size(); ++i) {
    BRIO_CHECK(row_ids[i] >= 0 && row_ids[i] < x.max_rows(), "row {} of {}", row_ids[i], x.max_rows());
    to[i] = from[static_cast<size_t>(row_ids[i])];
  }
}

void NullOps::norm_add(const Rows& branch, int num_rows, const tensor::Vector& weight, float /*epsilon*/, Rows& x) {
  BRIO_CHECK(branch.width() == x.width() && weight.size() == x.width() && num_rows <= x.max_rows() &&
                 num_rows <= branch.max_rows(),
             "norm of {} rows of {} added to {} of {}", num_rows, branch.width(), x.max_rows(), x.width());
}

void NullOps::linear(const Activation& in, int num_rows, std::span<const LinearTask> tasks) {
  for (const LinearTask& task : tasks) {
    BRIO_CHECK(task.weight->cols() == in.width() && task.weight->rows() == task.y->width() &&
                   (task.bias == nullptr || task.bias->size() == task.y->width()) && num_rows <= task.y->max_rows(),
               "weight {} x {} from {} to {}", task.weight->rows(), task.weight->cols(), in.width(), task.y->width());
    ++weight_passes_;
    copy(origins(in), num_rows, origins(*task.y));
  }
}

void NullOps::gated_linear(const Activation& in, int num_rows, const tensor::Weight& gate, const tensor::Weight& up,
                           Nonlinearity /*f*/, Activation& out) {
  BRIO_CHECK(
      gate.cols() == in.width() && up.cols() == in.width() && gate.rows() == out.width() && up.rows() == out.width(),
      "gate {} x {} and up {} x {} from {} to {}", gate.rows(), gate.cols(), up.rows(), up.cols(), in.width(),
      out.width());
  weight_passes_ += 2;
  copy(origins(in), num_rows, origins(out));
}

void NullOps::rope_and_store(Rows& q, const Rows& k, const Rows& v, const StepRows& step, const HeadNorms& /*norms*/,
                             RopeTable& rope, const tensor::KvLayerView& kv) {
  const int kv_width = kv.spec->num_kv_heads * kv.spec->head_dim;
  BRIO_CHECK(k.width() == kv_width && v.width() == kv_width && q.width() % kv_width == 0 &&
                 rope.spec().rotary_dim <= kv.spec->head_dim && static_cast<int>(step.rows.size()) <= q.max_rows(),
             "q {} k {} v {} of heads of {}", q.width(), k.width(), v.width(), kv.spec->head_dim);
  for (const Row& row : step.rows) {
    BRIO_CHECK(row.write_begin <= row.write_end && static_cast<size_t>(row.write_end) <= step.writes.size(),
               "writes {} to {} of {}", row.write_begin, row.write_end, step.writes.size());
    for (int32_t w = row.write_begin; w < row.write_end; ++w) {
      const WriteSlot& slot = step.writes[static_cast<size_t>(w)];
      const size_t sequence = static_cast<size_t>(slot.sequence);
      const size_t block = static_cast<size_t>(slot.position / tensor::kBlockTokens);
      BRIO_CHECK(
          slot.sequence >= 0 && sequence < kv.blocks.size() && slot.position >= 0 && block < kv.blocks[sequence].size(),
          "write to position {} of sequence {}: no block for it", slot.position, slot.sequence);
    }
  }
}

void NullOps::attention(const Rows& q, const StepRows& step, const AttentionShape& shape, const tensor::KvLayerView& kv,
                        Activation& out) {
  BRIO_CHECK(shape.head_dim == kv.spec->head_dim && shape.num_heads % kv.spec->num_kv_heads == 0 &&
                 q.width() == shape.num_heads * shape.head_dim && out.width() == q.width(),
             "{} heads of {}, q {}, out {}", shape.num_heads, shape.head_dim, q.width(), out.width());
  for (const Row& row : step.rows) {
    const size_t sequence = static_cast<size_t>(row.sequence);
    BRIO_CHECK(row.sequence >= 0 && sequence < kv.blocks.size() && row.visible_begin >= 0 &&
                   static_cast<size_t>(row.visible_end) <= kv.blocks[sequence].size() * tensor::kBlockTokens,
               "keys {} to {} of sequence {}", row.visible_begin, row.visible_end, row.sequence);
  }
  copy(origins(q), static_cast<int>(step.rows.size()), origins(out));
}

std::span<const float> NullOps::read(const Rows& rows, int row) const {
  const auto found = contents_.find(rows.storage());
  BRIO_CHECK(found != contents_.end() && row >= 0 && row < rows.max_rows(), "row {} of {}", row, rows.max_rows());
  Contents& contents = found->second;
  contents.logits.resize(static_cast<size_t>(rows.max_rows()));
  std::vector<float>& logits = contents.logits[static_cast<size_t>(row)];
  logits.resize(static_cast<size_t>(rows.width()));
  const Origin origin = contents.origins[static_cast<size_t>(row)];
  std::array<uint32_t, 4> draw = {};
  for (size_t id = 0; id < logits.size(); ++id) {
    if (id % 4 == 0) {
      draw = philox({static_cast<uint32_t>(origin.token), static_cast<uint32_t>(origin.position),
                     static_cast<uint32_t>(id / 4), 0},
                    {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    }
    logits[id] = static_cast<float>(static_cast<int32_t>(draw[id % 4])) * 0x1p-28F;
  }
  return logits;
}

}  // namespace brio::ops
