// The quick matrix of `brio prove` on tiny models of every architecture, head layout and tensor type: every row occurs, and
// no bit differs.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "invariance/tiny_proof.h"

namespace brio::invariance {
namespace {

// Builds that can break the rules are sanitized ones, and slow: the first model of each architecture and type of weights.
std::vector<tiny::TinySpec> affordable(std::vector<tiny::TinySpec> specs) {
#ifdef BRIO_BREAKS
  std::set<std::string> seen;
  std::erase_if(specs, [&](const tiny::TinySpec& spec) {
    const bool is_quantised = tensor::traits(spec.type).block_elements > 1;
    return !seen.insert(spec.architecture + (is_quantised ? ", quantised" : "")).second;
  });
#endif
  return specs;
}

void expect_equal(const tiny::TinySpec& spec, tensor::Numerics numerics,
                  std::optional<tensor::KvType> kv_type = std::nullopt) {
  TinyProof proof(spec, numerics, prove::kQuick, kv_type);
  ASSERT_NO_FATAL_FAILURE(proof.run_alone());
  for (const prove::Row& row : proof.rows()) {
    const prove::RowResult result = proof.prove(row);
    EXPECT_EQ(result.status, prove::RowResult::Status::kEqual) << row.name << ": " << result.detail;
    EXPECT_GT(result.positions, 0) << row.name;
  }
}

class Matrix : public testing::TestWithParam<tiny::TinySpec> {};
TEST_P(Matrix, HasNoDifferingBit) {
  expect_equal(GetParam(), tensor::Numerics::kDefault);
}
INSTANTIATE_TEST_SUITE_P(Tiny, Matrix, testing::ValuesIn(affordable(all_specs())), test_name);

// Exact weights, fp32 activations, fp32 keys and values.
class MatrixInFp32 : public testing::TestWithParam<tiny::TinySpec> {};
TEST_P(MatrixInFp32, HasNoDifferingBit) {
  expect_equal(GetParam(), tensor::Numerics::kFp32);
}
INSTANTIATE_TEST_SUITE_P(Tiny, MatrixInFp32, testing::ValuesIn(affordable(tiny::shape_specs())), test_name);

// Keys and values in 8 bits.
class MatrixInInt8 : public testing::TestWithParam<tiny::TinySpec> {};
TEST_P(MatrixInInt8, HasNoDifferingBit) {
  expect_equal(GetParam(), tensor::Numerics::kDefault, tensor::KvType::kInt8);
}
INSTANTIATE_TEST_SUITE_P(Tiny, MatrixInInt8, testing::ValuesIn(one_of_each_architecture()), test_name);

}  // namespace
}  // namespace brio::invariance
