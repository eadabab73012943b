#include "ops/cpu_ops.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/row.h"
#include "kernels/table.h"
#include "ops/breaks.h"
#include "ops/cpu_attention.h"
#include "ops/cpu_storage.h"

namespace brio::ops {
namespace {

// Rows a thread claims at once: a norm of one row is a fraction of a microsecond, waking the pool costs about one.
constexpr int kRowGrain = 4;

// Scratch for one fp32 row of the calling thread.
float* thread_row(int width) {
  thread_local std::vector<float> row;
  if (row.size() < static_cast<size_t>(width)) row.resize(static_cast<size_t>(width));
  return row.data();
}

}  // namespace

Result<std::unique_ptr<CpuOps>> CpuOps::create(ThreadPool& pool, Isa isa, tensor::Numerics numerics) {
  if (!cpu_supports(isa)) {
    return error(ErrorCode::kUnsupported, "this CPU ({}) does not have {}", cpu_model(), name(isa));
  }
  return std::unique_ptr<CpuOps>(new CpuOps(pool, breakable_kernels(isa, pool.num_threads()), numerics));
}

CpuOps::CpuOps(ThreadPool& pool, const kernels::KernelTable& kernels, tensor::Numerics numerics)
    : pool_(pool), kernels_(kernels), numerics_(numerics), attention_scratch_(std::make_unique<AttentionScratch>()) {}

CpuOps::~CpuOps() = default;

Isa CpuOps::isa() const {
  return kernels_.isa;
}

Result<Rows> CpuOps::make_rows(int max_rows, int width) {
  BRIO_TRY(std::shared_ptr<Rows::Storage> storage, make_rows_storage(max_rows, width));
  return Rows(std::move(storage), max_rows, width);
}

Result<Activation> CpuOps::make_activation(int max_rows, int width, tensor::InputForms forms) {
  BRIO_TRY(std::shared_ptr<Activation::Storage> storage, make_activation_storage(max_rows, width, forms));
  return Activation(std::move(storage), max_rows, width);
}

void CpuOps::norm(const Rows& x, int num_rows, const tensor::Vector& weight, float epsilon, Activation& out) {
  BRIO_CHECK(x.width() == out.width() && weight.size() == x.width() && num_rows <= out.max_rows(),
             "norm of {} rows of {} into {} of {}", num_rows, x.width(), out.max_rows(), out.width());
  out.storage()->start(num_rows, x.storage()->first_rows);
  pool_.parallel_for(num_rows, kRowGrain, [&](int begin, int end) {
    float* normed = thread_row(x.width());
    for (int r = begin; r < end; ++r) {
      kernels_.rows.rms_norm(x.storage()->row(r), weight.values().data(), x.width(), epsilon, normed);
      out.storage()->store(kernels_.quantize, r, 0, {normed, static_cast<size_t>(x.width())});
    }
  });
  if (is_broken(Rule::kR2)) share_scales(*out.storage());
  if (is_broken(Rule::kR3)) norm_later_rows(x, num_rows, weight, epsilon, kernels_.quantize, out);
}

void CpuOps::norm_gather(const Rows& x, std::span<const int32_t> row_ids, const tensor::Vector& weight, float epsilon,
                         Activation& out) {
  const int num_rows = static_cast<int>(row_ids.size());
  BRIO_CHECK(x.width() == out.width() && weight.size() == x.width() && num_rows <= out.max_rows(),
             "norm of {} rows of {} into {} of {}", num_rows, x.width(), out.max_rows(), out.width());
  std::vector<int32_t> first_rows;
  for (int i = 0; i < num_rows; ++i) {
    if (std::ranges::binary_search(x.storage()->first_rows, row_ids[static_cast<size_t>(i)])) first_rows.push_back(i);
  }
  out.storage()->start(num_rows, first_rows);
  pool_.parallel_for(num_rows, kRowGrain, [&](int begin, int end) {
    float* normed = thread_row(x.width());
    for (int r = begin; r < end; ++r) {
      const float* in = x.storage()->row(row_ids[static_cast<size_t>(r)]);
      kernels_.rows.rms_norm(in, weight.values().data(), x.width(), epsilon, normed);
      out.storage()->store(kernels_.quantize, r, 0, {normed, static_cast<size_t>(x.width())});
    }
  });
}

void CpuOps::norm_add(const Rows& branch, int num_rows, const tensor::Vector& weight, float epsilon, Rows& x) {
  BRIO_CHECK(branch.width() == x.width() && weight.size() == x.width() && num_rows <= x.max_rows(),
             "norm of {} rows of {} added to {} of {}", num_rows, branch.width(), x.max_rows(), x.width());
  pool_.parallel_for(num_rows, kRowGrain, [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      kernels_.rows.rms_norm_add(branch.storage()->row(r), weight.values().data(), x.width(), epsilon,
                                 x.storage()->row(r));
    }
  });
}

std::span<const float> CpuOps::read(const Rows& rows, int row) const {
  BRIO_CHECK(row >= 0 && row < rows.max_rows(), "row {} of {}", row, rows.max_rows());
  return {rows.storage()->row(row), static_cast<size_t>(rows.width())};
}

std::vector<float> CpuOps::read(const Activation& in, int row) const {
  BRIO_CHECK(row >= 0 && row < in.storage()->num_rows, "row {} of {}", row, in.storage()->num_rows);
  return in.storage()->read(row);
}

}  // namespace brio::ops
