// The matrix can fail: with each rule of DESIGN section 4 broken on purpose (base/breaks.h), the rows that should notice
// find differing bits and name the operation at fault; rows in which the bug does not show stay equal, and so does all
// without it.
#ifdef BRIO_BREAKS
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "base/breaks.h"
#include "invariance/tiny_proof.h"

namespace brio::invariance {
namespace {

struct Break {
  Rule rule;
  const char* model;
  std::vector<const char*> noticed_by;
  const char* operation;  // how the difference is described
  std::vector<const char*> unnoticed_by;
};
void PrintTo(const Break& broken, std::ostream* out) {
  *out << "R" << static_cast<int>(broken.rule);
}

std::vector<Break> breaks() {
  return {
      {Rule::kR1,
       "llama-mha-d64",
       {"chunks of 1", "chunks of 7", "budget 7"},
       "layer 0, linear 1 of 3, 128 x 128: element",
       {}},
      {Rule::kR2, "llama-Q8_0", {"neighbours come and go", "random chunks"}, "layer 0, norm, quantised: element", {}},
      {Rule::kR3, "llama-mha-d64", {"row in the batch", "budget 7"}, "layer 0, norm, quantised: element", {}},
      {Rule::kR4, "llama-mha-d64", {"chunks of 1", "budget 1"}, "layer 0, attention, quantised: element", {}},
      {Rule::kR5,
       "llama-Q4_K",
       {"forked choices"},
       "layer 0, keys and values read: element",
       {"neighbours come and go", "threads"}},
      {Rule::kR6, "llama-mha-d64", {"seeded sampling"}, "sampler: token", {}},
      {Rule::kR7, "llama-mha-d64", {"verify rows"}, "layer 0, keys and values read: ", {}},
      {Rule::kR8, "llama-mha-d64", {"threads"}, "layer 0, linear", {"neighbours come and go", "chunks of 7"}},
      {Rule::kR9,
       "llama-mha-d64",
       {"instruction sets"},
       "layer 0, gated linear",
       {"neighbours come and go", "threads"}},
  };
}

const tiny::TinySpec& spec_of(const std::string& name) {
  static const std::vector<tiny::TinySpec> specs = all_specs();
  return *std::find_if(specs.begin(), specs.end(), [&](const tiny::TinySpec& spec) { return spec.name == name; });
}

class Breaks : public testing::TestWithParam<Break> {
 protected:
  void TearDown() override { break_rule(std::nullopt); }
};

TEST_P(Breaks, AreNoticedAndNamed) {
  const Break& broken = GetParam();
  if (broken.rule == Rule::kR9 && !cpu_supports(Isa::kAvx2)) GTEST_SKIP() << "one instruction set here";
  using Status = prove::RowResult::Status;
  TinyProof proof(spec_of(broken.model), tensor::Numerics::kDefault, prove::kQuick);
  std::vector<const char*> rows = broken.noticed_by;
  rows.insert(rows.end(), broken.unnoticed_by.begin(), broken.unnoticed_by.end());
  ASSERT_NO_FATAL_FAILURE(proof.run_alone());
  for (const char* row : rows) EXPECT_EQ(proof.prove(row).status, Status::kEqual) << row << " without the break";

  break_rule(broken.rule);
  ASSERT_NO_FATAL_FAILURE(proof.run_alone());
  for (const char* row : broken.noticed_by) {
    const prove::RowResult result = proof.prove(row);
    EXPECT_EQ(result.status, Status::kDiffers) << row;
    EXPECT_NE(result.detail.find(broken.operation), std::string::npos) << row << ": " << result.detail;
    std::printf("%s: %s\n", row, result.detail.c_str());
  }
  for (const char* row : broken.unnoticed_by) EXPECT_EQ(proof.prove(row).status, Status::kEqual) << row;
}

INSTANTIATE_TEST_SUITE_P(Rule, Breaks, testing::ValuesIn(breaks()), [](const testing::TestParamInfo<Break>& info) {
  return "R" + std::to_string(static_cast<int>(info.param.rule));
});

}  // namespace
}  // namespace brio::invariance
#else
#include "base/breaks.h"

namespace brio {
static_assert(!is_broken(Rule::kR1) && !is_broken(Rule::kR9));  // and that at compile time: no broken code is built
}
#endif
