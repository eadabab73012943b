// Linear layers through CpuOps: equal bits whatever the threads, the ISA and the company of a row, and equal to the plain
// specification.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/arena.h"
#include "base/rng.h"
#include "kernels/linear_blocks.h"
#include "kernels/linear_pack.h"
#include "kernels/reference/linear_reference.h"
#include "kernels/row.h"
#include "ops/cpu_ops.h"
#include "ops/cpu_storage.h"

namespace brio::ops {
namespace {

using kernels::PanelFormat;
using tensor::DType;
using tensor::Numerics;

constexpr float kEpsilon = 1e-6F;

// A random matrix of a type, as a file has it and packed.
struct TestWeight {
  TestWeight(DType type, int n, int k, uint64_t seed) {
    const PanelFormat format = tensor::panel_format(type, Numerics::kDefault);
    const kernels::BlockShape shape = kernels::block_shape(format);
    row_bytes = static_cast<size_t>(k / shape.elements) * shape.bytes;
    file.resize(n * row_bytes);
    Rng rng(seed);
    for (std::byte& b : file) b = static_cast<std::byte>(rng.below(256) & 0x33);  // scales of a moderate size
    const int64_t bytes = kernels::panel_bytes(format, k);
    auto buffer = std::make_shared<AlignedBuffer>(
        AlignedBuffer::create(static_cast<size_t>(kernels::num_panels(n)) * bytes).value());
    for (int p = 0; p < kernels::num_panels(n); ++p) {
      const std::byte* rows[kernels::kPanelRows];
      for (int i = 0; i < kernels::kPanelRows; ++i) {
        const int row = p * kernels::kPanelRows + i;
        rows[i] = row < n ? file.data() + row * row_bytes : nullptr;
      }
      kernels::pack_panel(format, rows, k, buffer->data() + p * bytes);
    }
    weight = tensor::Weight(type, Numerics::kDefault, n, k, {buffer, buffer->data()});
  }
  std::vector<std::byte> file;
  size_t row_bytes = 0;
  tensor::Weight weight;
};

// An OpSet, and rows of x normalised into an activation that has every form.
struct Bench {
  Bench(Isa isa, int threads, int num_rows, int k, std::vector<int32_t> first_rows = {})
      : pool(threads), ops(CpuOps::create(pool, isa, Numerics::kDefault).value()), rows(num_rows) {
    x = ops->make_rows(num_rows, k).value();
    x.storage()->first_rows = std::move(first_rows);
    using tensor::InputForms;
    in = ops->make_activation(num_rows, k, InputForms::kS8 | InputForms::kBF16 | InputForms::kF32).value();
    Rng rng(5);
    for (int r = 0; r < num_rows; ++r) {
      for (int i = 0; i < k; ++i) x.storage()->row(r)[i] = rng.uniform(-1.0F, 1.0F);
    }
    norm = tensor::Vector(std::vector<float>(k, 1.0F));
    ops->norm(x, num_rows, norm, kEpsilon, in);
  }
  ThreadPool pool;
  std::unique_ptr<CpuOps> ops;
  Rows x;
  Activation in;
  tensor::Vector norm;
  int rows;
};

std::vector<float> values_of(const CpuOps& ops, const Rows& rows, int num_rows) {
  std::vector<float> out;
  for (int r = 0; r < num_rows; ++r) {
    const auto row = ops.read(rows, r);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<Isa> isas_here() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (cpu_supports(isa)) isas.push_back(isa);
  }
  return isas;
}

constexpr DType kMixed[] = {DType::kQ4_K, DType::kQ6_K, DType::kBF16, DType::kF16};

TEST(CpuLinearTest, TasksOfMixedTypesEqualTheReferenceWithAnyThreadsAndIsa) {
  constexpr int kK = 512;
  constexpr int kRows = 11;
  for (const Isa isa : isas_here()) {
    for (const int threads : {1, 2, 5}) {
      Bench bench(isa, threads, kRows, kK);
      for (const Store store : {Store::kReplace, Store::kAdd}) {
        std::vector<TestWeight> weights;
        std::vector<Rows> outputs;
        for (int i = 0; i < 4; ++i) {
          weights.emplace_back(kMixed[i], 40 + 33 * i, kK, i);
          outputs.push_back(bench.ops->make_rows(kRows, 40 + 33 * i).value());
        }
        const tensor::Vector bias(std::vector<float>(40, 0.25F));
        std::vector<LinearTask> tasks;
        for (int i = 0; i < 4; ++i) tasks.push_back({&weights[i].weight, i == 0 ? &bias : nullptr, &outputs[i], store});
        bench.ops->linear(bench.in, kRows, tasks);
        for (int i = 0; i < 4; ++i) {
          const int n = static_cast<int>(weights[i].weight.rows());
          std::vector<float> expected(static_cast<size_t>(kRows) * n);
          kernels::linear_reference(weights[i].weight.format(), weights[i].file.data(), n, kK,
                                    bench.in.storage()->input(0), kRows,
                                    {expected.data(), n, i == 0 ? bias.values().data() : nullptr,
                                     store == Store::kAdd ? kernels::Write::kAdd : kernels::Write::kReplace, n});
          EXPECT_TRUE(same_bits(expected, values_of(*bench.ops, outputs[i], kRows)))
              << name(isa) << " threads " << threads << " task " << i;
        }
      }
      EXPECT_EQ(bench.ops->weight_passes(), 8);
    }
  }
}

TEST(CpuLinearTest, ARowIsTheSameAloneAndInCompany) {
  constexpr int kK = 256;
  const TestWeight w(DType::kQ5_K, 70, kK, 9);
  for (const Isa isa : isas_here()) {
    Bench bench(isa, 2, 150, kK);
    Rows together = bench.ops->make_rows(150, 70).value();
    const LinearTask all[] = {{&w.weight, nullptr, &together}};
    bench.ops->linear(bench.in, 150, all);
    for (const int row : {0, 1, 7, 63, 64, 127, 128, 149}) {
      Activation one = bench.ops->make_activation(1, kK, tensor::InputForms::kS8).value();
      const int32_t ids[] = {row};
      bench.ops->norm_gather(bench.x, ids, bench.norm, kEpsilon, one);
      Rows alone = bench.ops->make_rows(1, 70).value();
      const LinearTask task[] = {{&w.weight, nullptr, &alone}};
      bench.ops->linear(one, 1, task);
      const auto expected = bench.ops->read(together, row);
      EXPECT_TRUE(same_bits({expected.begin(), expected.end()}, values_of(*bench.ops, alone, 1))) << row;
    }
  }
}

// gated_linear is linear twice, the gate's function, and the forms of the result.
TEST(CpuLinearTest, GatedLinearEqualsItsParts) {
  constexpr int kK = 256;
  for (const int n : {16, 48, 100, 1024}) {
    for (const int rows : {1, 3, 140}) {
      for (const Isa isa : isas_here()) {
        if (isa == Isa::kScalar && n > 100) continue;
        Bench bench(isa, 2, rows, kK, {0, 1, 70, 139});
        const TestWeight gate(DType::kQ4_K, n, kK, 1);
        const TestWeight up(DType::kQ6_K, n, kK, 2);
        Rows gate_rows = bench.ops->make_rows(rows, n).value();
        Rows up_rows = bench.ops->make_rows(rows, n).value();
        const LinearTask tasks[] = {{&gate.weight, nullptr, &gate_rows}, {&up.weight, nullptr, &up_rows}};
        bench.ops->linear(bench.in, rows, tasks);
        using tensor::InputForms;
        const InputForms forms = InputForms::kS8 | InputForms::kBF16 | InputForms::kF32;
        Activation expected = bench.ops->make_activation(rows, n, forms).value();
        Activation actual = bench.ops->make_activation(rows, n, forms).value();
        expected.storage()->start(rows, bench.in.storage()->rest_rows);
        std::vector<float> product(n);
        const int64_t passes = bench.ops->weight_passes();
        for (const Nonlinearity f : {Nonlinearity::kSilu, Nonlinearity::kGeluTanh}) {
          const kernels::RowKernels& row = kernels::row_kernels(isa);
          for (int r = 0; r < rows; ++r) {
            (f == Nonlinearity::kSilu ? row.silu_multiply : row.gelu_tanh_multiply)(
                gate_rows.storage()->row(r), up_rows.storage()->row(r), n, product.data());
            expected.storage()->store(kernels::quantize_kernels(isa), r, 0, product);
          }
          bench.ops->gated_linear(bench.in, rows, gate.weight, up.weight, f, actual);
          const AlignedBuffer& a = expected.storage()->buffer;
          const AlignedBuffer& b = actual.storage()->buffer;
          ASSERT_EQ(a.size_bytes(), b.size_bytes());
          ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0) << n << " columns, " << rows << " rows";
        }
        EXPECT_EQ(bench.ops->weight_passes(), passes + 4);
      }
    }
  }
}

// One massive activation: it takes a group's whole scale, and what is left of its neighbours is in the rest.
TEST(CpuLinearTest, RowsAtPositionZeroKeepWhatQuantisingLeft) {
  constexpr int kK = 256;
  constexpr int kN = 50;
  const std::vector<int32_t> first_rows = {0, 3, 4, 8};
  const TestWeight w(DType::kQ8_0, kN, kK, 6);
  const TestWeight half(DType::kBF16, kN, kK, 7);  // reads the exact form: no rest is added
  std::vector<float> matrix(static_cast<size_t>(kN) * kK);
  for (int n = 0; n < kN; ++n) kernels::unpack_row(w.weight.format(), w.weight.panels(), kK, n, &matrix[n * kK]);
  for (const Isa isa : isas_here()) {
    for (const int num_rows : {9, 140}) {  // in one pass over the weights, in two
      const auto run = [&](const TestWeight& weight, const std::vector<int32_t>& first) {
        Bench bench(isa, 3, num_rows, kK, first);
        for (int r = 0; r < num_rows; ++r) bench.x.storage()->row(r)[37] = 5000.0F;
        bench.ops->norm(bench.x, num_rows, bench.norm, kEpsilon, bench.in);
        Rows y = bench.ops->make_rows(num_rows, kN).value();
        const tensor::Vector bias(std::vector<float>(kN, 0.5F));
        const LinearTask tasks[] = {{&weight.weight, &bias, &y}};
        bench.ops->linear(bench.in, num_rows, tasks);
        bench.ops->linear(bench.in, num_rows, std::vector<LinearTask>{{&weight.weight, nullptr, &y, Store::kAdd}});
        std::vector<float> normed;
        for (int r = 0; r < num_rows; ++r) {
          const float* row = bench.in.storage()->f32 + r * bench.in.storage()->stride;
          normed.insert(normed.end(), row, row + kK);
        }
        return std::pair(values_of(*bench.ops, y, num_rows), normed);
      };
      const auto [with, x] = run(w, first_rows);
      const auto [without, same_x] = run(w, {});
      EXPECT_TRUE(same_bits(x, same_x));
      for (int r = 0; r < num_rows; ++r) {
        const bool first = std::ranges::find(first_rows, r) != first_rows.end();
        double error = 0.0;
        double plain_error = 0.0;
        for (int n = 0; n < kN; ++n) {
          double exact = 0.0;
          for (int k = 0; k < kK; ++k) exact += double{matrix[n * kK + k]} * x[r * kK + k];
          exact = 2.0 * exact + 0.5;
          error += std::abs(with[r * kN + n] - exact);
          plain_error += std::abs(without[r * kN + n] - exact);
          if (!first) {
            ASSERT_EQ(with[r * kN + n], without[r * kN + n]) << r;
          }
        }
        EXPECT_GT(plain_error, 0.0);
        if (first) {
          EXPECT_LT(error, plain_error / 50) << "row " << r;
        }
      }
      EXPECT_TRUE(same_bits(run(half, first_rows).first, run(half, {}).first));
    }
  }
}

TEST(CpuLinearTest, EmbeddingIsTheScaledRowOfTheTable) {
  constexpr int kK = 288;
  const TestWeight table(DType::kQ8_0, 50, kK, 4);
  Bench bench(Isa::kScalar, 2, 20, kK);
  std::vector<Row> rows(20);
  for (int i = 0; i < 20; ++i) rows[i] = {.token = (i * 7) % 50, .position = i % 10};
  bench.ops->embed(table.weight, rows, 3.0F, bench.x);
  std::vector<float> expected(kK);
  for (int i = 0; i < 20; ++i) {
    kernels::unpack_row(PanelFormat::kQ8_0, table.weight.panels(), kK, rows[i].token, expected.data());
    const auto actual = bench.ops->read(bench.x, i);
    for (int j = 0; j < kK; ++j) ASSERT_EQ(actual[j], 3.0F * expected[j]);
  }
  EXPECT_EQ(bench.x.storage()->first_rows, (std::vector<int32_t>{0, 10}));
}

TEST(CpuLinearTest, NaNInARowReachesItsOutputsAndNoOther) {
  constexpr int kK = 256;
  const TestWeight w(DType::kQ4_0, 32, kK, 3);
  Bench bench(isas_here().back(), 1, 3, kK);
  bench.x.storage()->row(1)[100] = std::bit_cast<float>(0x7FC00000U);
  bench.ops->norm(bench.x, 3, bench.norm, kEpsilon, bench.in);
  Rows y = bench.ops->make_rows(3, 32).value();
  const LinearTask task[] = {{&w.weight, nullptr, &y}};
  bench.ops->linear(bench.in, 3, task);
  for (int i = 0; i < 32; ++i) {
    EXPECT_FALSE(bench.ops->read(y, 0)[i] != bench.ops->read(y, 0)[i]);
    EXPECT_TRUE(bench.ops->read(y, 1)[i] != bench.ops->read(y, 1)[i]);
  }
}

}  // namespace
}  // namespace brio::ops
