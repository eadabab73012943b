// Norms through CpuOps: every form of the activation holds the normed row, whatever the thread count, ISA and neighbours;
// and what writes and visible ranges mean.
#include "ops/cpu_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "kernels/reference/row_reference.h"
#include "kernels/table.h"
#include "ops/cpu_storage.h"

namespace brio::ops {
namespace {

using tensor::InputForms;

constexpr int kRows = 11;
constexpr int kWidth = 100;  // not a multiple of 16 or 32

std::vector<float> random_vector(uint64_t seed, int n) {
  Rng rng(seed);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = rng.uniform(-2, 2);
  return x;
}

std::vector<Isa> usable_isas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (cpu_supports(isa)) isas.push_back(isa);
  }
  return isas;
}

std::unique_ptr<CpuOps> make_ops(ThreadPool& pool, Isa isa) {
  return std::move(CpuOps::create(pool, isa, tensor::Numerics::kDefault)).value();
}

Rows filled_rows(CpuOps& ops, int num_rows, int width, uint64_t seed) {
  Rows rows = std::move(ops.make_rows(num_rows, width)).value();
  for (int r = 0; r < num_rows; ++r) std::ranges::copy(random_vector(seed + r, width), rows.storage()->row(r));
  return rows;
}

// Row r of `out` in every form equals `values` quantised, rounded and as it is.
void expect_forms(const Activation& out, int r, const std::vector<float>& values) {
  set_float_mode();
  const Activation::Storage& storage = *out.storage();
  const kernels::QuantizeKernels& quantize = kernels::kernel_table(Isa::kScalar).quantize;
  const int padded = kernels::padded_k(out.width());
  std::vector<int8_t> s8(padded);
  std::vector<float> scales(padded / 32);
  std::vector<int16_t> sums(padded / 16);
  std::vector<uint16_t> bf16(padded);
  quantize.quantize_row(values.data(), out.width(), {s8.data(), scales.data(), sums.data()});
  quantize.round_row_bf16(values.data(), out.width(), bf16.data());
  const kernels::QuantizedRow row = storage.quantized_row(r);
  EXPECT_EQ(std::memcmp(row.values, s8.data(), s8.size()), 0) << r;
  EXPECT_EQ(std::memcmp(row.scales, scales.data(), scales.size() * 4), 0) << r;
  EXPECT_EQ(std::memcmp(row.sums, sums.data(), sums.size() * 2), 0) << r;
  EXPECT_EQ(std::memcmp(storage.bf16 + r * storage.stride, bf16.data(), bf16.size() * 2), 0) << r;
  EXPECT_EQ(std::memcmp(storage.f32 + r * storage.stride, values.data(), values.size() * 4), 0) << r;
}

TEST(CpuOps, NormFillsEveryForm) {
  const tensor::Vector weight(random_vector(7, kWidth));
  for (Isa isa : usable_isas()) {
    for (int threads : {1, 3}) {
      ThreadPool pool(threads);
      const auto ops = make_ops(pool, isa);
      const Rows x = filled_rows(*ops, kRows, kWidth, 100);
      const auto forms = InputForms::kS8 | InputForms::kBF16 | InputForms::kF32;
      Activation out = std::move(ops->make_activation(kRows, kWidth, forms)).value();
      ops->norm(x, kRows, weight, 1e-5F, out);
      std::vector<float> want(kWidth);
      for (int r = 0; r < kRows; ++r) {
        kernels::reference::rms_norm(x.storage()->row(r), weight.values().data(), kWidth, 1e-5F, want.data());
        expect_forms(out, r, want);
      }
      const std::vector<int32_t> picked = {10, 0, 3, 3, 9};
      ops->norm_gather(x, picked, weight, 1e-5F, out);
      for (size_t i = 0; i < picked.size(); ++i) {
        kernels::reference::rms_norm(x.storage()->row(picked[i]), weight.values().data(), kWidth, 1e-5F, want.data());
        expect_forms(out, static_cast<int>(i), want);
      }
    }
  }
}

TEST(CpuOps, NormAddTouchesItsRowsAlone) {
  const tensor::Vector weight(random_vector(7, kWidth));
  for (Isa isa : usable_isas()) {
    ThreadPool pool(2);
    const auto ops = make_ops(pool, isa);
    const Rows branch = filled_rows(*ops, kRows, kWidth, 100);
    Rows x = filled_rows(*ops, kRows, kWidth, 200);
    ops->norm_add(branch, kRows - 1, weight, 1e-6F, x);
    set_float_mode();
    for (int r = 0; r < kRows; ++r) {
      std::vector<float> want = random_vector(200 + r, kWidth);
      if (r < kRows - 1) {
        kernels::reference::rms_norm_add(branch.storage()->row(r), weight.values().data(), kWidth, 1e-6F, want.data());
      }
      const std::span<const float> got = ops->read(x, r);
      ASSERT_EQ(got.size(), want.size());
      ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0) << name(isa) << ' ' << r;
    }
  }
}

TEST(CpuOps, AnIsaThatTheCpuLacksIsAnError) {
  if (cpu_supports(Isa::kAvx512)) GTEST_SKIP() << "this CPU has everything";
  ThreadPool pool(1);
  const auto ops = CpuOps::create(pool, Isa::kAvx512, tensor::Numerics::kDefault);
  ASSERT_FALSE(ops.ok());
  EXPECT_EQ(ops.error().code, ErrorCode::kUnsupported);
}

// Two sequences of 40 positions, one block table each, and rows with ranges and writes of the test's choosing.
class Branches : public ::testing::Test {
 protected:
  static constexpr int kTokens = 40;

  void SetUp() override {
    spec_.num_kv_heads = 1;
    spec_.head_dim = 16;
    ops_ = make_ops(pool_, usable_isas().back());
    const size_t record = static_cast<size_t>(tensor::record_bytes(spec_));
    memory_ = std::move(AlignedBuffer::create(4 * record)).value();
    std::memset(memory_.data(), 0xff, memory_.size_bytes());
    for (int s = 0; s < 2; ++s)
      blocks_.push_back({memory_.data() + 2 * s * record, memory_.data() + (2 * s + 1) * record});
    RopeSpec rope;
    rope.rotary_dim = 16;
    rope_ = std::make_unique<RopeTable>(rope);
  }

  // Outputs [rows][32] of one step whose q, k, v of row r are drawn from seed(r).
  std::vector<std::vector<float>> step(const std::vector<Row>& rows, const std::vector<WriteSlot>& writes,
                                       const std::vector<uint64_t>& seeds) {
    const int n = static_cast<int>(rows.size());
    Rows q = std::move(ops_->make_rows(n, 32)).value();
    Rows k = std::move(ops_->make_rows(n, 16)).value();
    Rows v = std::move(ops_->make_rows(n, 16)).value();
    Activation out = std::move(ops_->make_activation(n, 32, InputForms::kF32)).value();
    for (int r = 0; r < n; ++r) {
      std::ranges::copy(random_vector(seeds[r] * 3, 32), q.storage()->row(r));
      std::ranges::copy(random_vector(seeds[r] * 3 + 1, 16), k.storage()->row(r));
      std::ranges::copy(random_vector(seeds[r] * 3 + 2, 16), v.storage()->row(r));
    }
    std::vector<std::span<std::byte* const>> views(blocks_.begin(), blocks_.end());
    const tensor::KvLayerView kv = {&spec_, views};
    ops_->rope_and_store(q, k, v, {rows, writes}, {}, *rope_, kv);
    ops_->attention(q, {rows, writes}, {2, 16, 0.25F, 0.0F}, kv, out);
    std::vector<std::vector<float>> outs;
    for (int r = 0; r < n; ++r) {
      const float* values = out.storage()->f32 + r * out.storage()->stride;
      outs.emplace_back(values, values + 32);
    }
    return outs;
  }

  static Row row_at(int sequence, int position, int begin, int end) {
    Row row;
    row.sequence = sequence;
    row.position = position;
    row.visible_begin = begin;
    row.visible_end = end;
    return row;
  }

  ThreadPool pool_{3};
  std::unique_ptr<CpuOps> ops_;
  tensor::KvSpec spec_;
  AlignedBuffer memory_;
  std::vector<std::vector<std::byte*>> blocks_;
  std::unique_ptr<RopeTable> rope_;
};

// Rows that write to both branches: afterwards a row of either sees the same.
TEST_F(Branches, ARowWritesEverySlot) {
  std::vector<Row> rows;
  std::vector<WriteSlot> writes;
  std::vector<uint64_t> seeds;
  for (int p = 0; p < kTokens; ++p) {
    Row row = row_at(0, p, 0, p + 1);
    row.write_begin = 2 * p;
    row.write_end = 2 * p + 2;
    rows.push_back(row);
    writes.push_back({0, p});
    writes.push_back({1, p});
    seeds.push_back(50 + p);
  }
  const auto outs = step(rows, writes, seeds);
  const auto again = step({row_at(0, kTokens - 1, 0, kTokens), row_at(1, kTokens - 1, 0, kTokens)}, {},
                          {50 + kTokens - 1, 50 + kTokens - 1});
  EXPECT_EQ(again[0], outs.back());
  EXPECT_EQ(again[1], outs.back());
}

// An encoder's row sees later keys; a row with a later begin does not see earlier ones; one that sees nothing is zero.
TEST_F(Branches, VisibleRangesAreTakenAsGiven) {
  std::vector<Row> rows;
  std::vector<WriteSlot> writes;
  std::vector<uint64_t> seeds;
  for (int p = 0; p < kTokens; ++p) {
    Row row = row_at(0, p, 0, kTokens);
    row.write_begin = p;
    row.write_end = p + 1;
    rows.push_back(row);
    writes.push_back({0, p});
    seeds.push_back(50 + p);
  }
  const auto both_ways = step(rows, writes, seeds);
  const auto last = step({row_at(0, 0, 0, kTokens), row_at(0, 0, 5, 6), row_at(0, 0, 7, 7)}, {}, {50, 50, 50});
  EXPECT_EQ(last[0], both_ways[0]);
  const std::vector<float> only = random_vector((50 + 5) * 3 + 2, 16);  // one key: its value, rounded to bf16
  for (int d = 0; d < 32; ++d) EXPECT_EQ(last[1][d], kernels::reference::round_bf16(only[d % 16]));
  EXPECT_EQ(last[2], std::vector<float>(32, 0.0F));
}

}  // namespace
}  // namespace brio::ops
