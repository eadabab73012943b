// The null device: its logits follow tokens through gathers and layers, and it counts weight passes.
#include "ops/null_ops.h"

#include <gtest/gtest.h>

#include <vector>

namespace brio::ops {
namespace {

using tensor::InputForms;
using tensor::Vector;
using tensor::Weight;

// Logits of a tiny model for rows of (token, position), of which `wanted` are gathered.
std::vector<std::vector<float>> logits(NullOps& ops, const std::vector<Row>& rows, const std::vector<int32_t>& wanted) {
  const Weight table = Weight::null(50, 8);
  const Weight down = Weight::null(8, 16);
  const Weight gate = Weight::null(16, 8);
  const Vector weight(std::vector<float>(8, 1.0F));
  Rows x = std::move(ops.make_rows(8, 8)).value();
  Rows out = std::move(ops.make_rows(8, 50)).value();
  Activation act = std::move(ops.make_activation(8, 8, InputForms::kS8)).value();
  Activation wide = std::move(ops.make_activation(8, 16, InputForms::kS8)).value();
  const int n = static_cast<int>(rows.size());
  ops.embed(table, rows, 1.0F, x);
  ops.norm(x, n, weight, 1e-5F, act);
  ops.gated_linear(act, n, gate, gate, Nonlinearity::kSilu, wide);
  const LinearTask add = {&down, nullptr, &x, Store::kAdd};
  ops.linear(wide, n, {&add, 1});
  ops.norm_gather(x, wanted, weight, 1e-5F, act);
  const LinearTask head = {&table, nullptr, &out};
  ops.linear(act, static_cast<int>(wanted.size()), {&head, 1});
  std::vector<std::vector<float>> result;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto row = ops.read(out, static_cast<int>(i));
    result.emplace_back(row.begin(), row.end());
  }
  return result;
}

Row row_of(int32_t token, int32_t position) {
  Row row;
  row.token = token;
  row.position = position;
  return row;
}

TEST(NullOps, LogitsDependOnTokenAndPositionAlone) {
  NullOps ops(3);
  const auto batch = logits(ops, {row_of(4, 0), row_of(9, 1), row_of(4, 0), row_of(4, 1)}, {3, 1, 0, 2});
  NullOps other(3);
  EXPECT_EQ(logits(other, {row_of(4, 1)}, {0})[0], batch[0]);
  EXPECT_EQ(logits(other, {row_of(1, 1), row_of(9, 1)}, {1})[0], batch[1]);
  EXPECT_EQ(batch[2], batch[3]);
  EXPECT_NE(batch[0], batch[2]);
  EXPECT_NE(batch[0], batch[1]);
  NullOps seeded(4);
  EXPECT_NE(logits(seeded, {row_of(4, 1)}, {0})[0], batch[0]);
}

TEST(NullOps, CountsOnePassAWeightWhateverTheRows) {
  NullOps ops;
  logits(ops, {row_of(4, 0)}, {0});
  EXPECT_EQ(ops.weight_passes(), 4);
  logits(ops, {row_of(4, 0), row_of(5, 1), row_of(6, 2)}, {0, 2});
  EXPECT_EQ(ops.weight_passes(), 8);
}

TEST(NullOpsDeathTest, ShapesAreChecked) {
  NullOps ops;
  Rows x = std::move(ops.make_rows(2, 8)).value();
  Activation act = std::move(ops.make_activation(2, 16, InputForms::kS8)).value();
  EXPECT_DEATH(ops.norm(x, 1, Vector(std::vector<float>(8)), 1e-5F, act), "norm of 8");
  const Row rows[3] = {};
  EXPECT_DEATH(ops.embed(Weight::null(50, 8), rows, 1.0F, x), "embed 3 rows");
}

}  // namespace
}  // namespace brio::ops
