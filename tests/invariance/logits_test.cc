// The logits of tiny models: the same bits with any compiler and on any machine (golden hashes), from GGUF and from
// safetensors. What must not matter on one machine: matrix_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/numerics_id.h"
#include "invariance/tiny_run.h"

namespace brio::invariance {
namespace {

Isa best_isa() {
  return cpu_supports(Isa::kAvx512) ? Isa::kAvx512 : cpu_supports(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
}

int text_length(const tiny::TinySpec& spec) {
  return spec.vocab > 1000 ? 40 : 100;
}  // past three blocks, no multiple of 32

class LogitsOf : public testing::TestWithParam<tiny::TinySpec> {};

// tests/golden/logits.txt: "<numerics id> <model> <sha256>" per line, the KV type behind the model's name where it is not
// bf16. Every compiler and machine must reproduce it; a change
// of rounding raises kNumericsId and rewrites the file (the failure prints the new line).
void expect_golden_hash(const tiny::TinySpec& spec, tensor::KvType kv_type) {
  std::ifstream in("tests/golden/logits.txt");
  std::map<std::string, std::string> hashes;
  for (std::string id, model, hash; in >> id >> model >> hash;) {
    if (id == std::to_string(kNumericsId)) hashes[model] = hash;
  }
  std::string name = spec.name;
  if (kv_type != tensor::KvType::kBF16) name += fmt::format("+{}", tensor::name(kv_type));
  const TinyModel tiny = load(gguf_of(spec), 1, best_isa(), tensor::Numerics::kDefault, kv_type);
  const std::string hash = sha256(logits_of(*tiny.model, random_tokens(text_length(spec), spec.vocab, 5)));
  EXPECT_EQ(hashes[name], hash) << kNumericsId << " " << name << " " << hash;
}

TEST_P(LogitsOf, HaveTheHashOfThisNumericsId) {
  expect_golden_hash(GetParam(), tensor::KvType::kBF16);
}

INSTANTIATE_TEST_SUITE_P(Tiny, LogitsOf, testing::ValuesIn(all_specs()), test_name);

class LogitsInInt8Of : public testing::TestWithParam<tiny::TinySpec> {};
TEST_P(LogitsInInt8Of, HaveTheHashOfThisNumericsId) {
  expect_golden_hash(GetParam(), tensor::KvType::kInt8);
}
INSTANTIATE_TEST_SUITE_P(Tiny, LogitsInInt8Of, testing::ValuesIn(tiny::shape_specs()), test_name);

class Checkpoints : public testing::TestWithParam<tiny::TinySpec> {};

TEST_P(Checkpoints, GgufAndSafetensorsGiveEqualBits) {
  const tiny::TinySpec& spec = GetParam();
  const auto folder = scratch_folder("safetensors") / spec.name;
  const auto written = tiny::write_safetensors(spec, folder);
  ASSERT_TRUE(written.ok()) << written.error().message;
  const Tokens text = random_tokens(40, spec.vocab, 9);
  for (const auto numerics : {tensor::Numerics::kDefault, tensor::Numerics::kFp32}) {
    const TinyModel gguf = load(gguf_of(spec), 2, best_isa(), numerics);
    const TinyModel safetensors = load(folder, 2, best_isa(), numerics);
    EXPECT_TRUE(same_bits(logits_of(*gguf.model, text), logits_of(*safetensors.model, text), spec.vocab));
  }
}
INSTANTIATE_TEST_SUITE_P(Tiny, Checkpoints, testing::ValuesIn(tiny::shape_specs()), test_name);

// Each linear weight is read once per step whatever the rows.
TEST(WeightPasses, DoNotGrowWithRows) {
  const tiny::TinySpec spec = tiny::shape_specs()[0];
  const TinyModel tiny = load(gguf_of(spec), 2, best_isa());
  const auto passes = [&](int rows) {
    const int64_t before = tiny.model->ops().weight_passes();
    logits_of(*tiny.model, random_tokens(rows, spec.vocab, 3));
    return tiny.model->ops().weight_passes() - before;
  };
  const int64_t one = passes(1);
  EXPECT_EQ(one, spec.layers * 7 + 1);  // q, k, v, o, gate, up, down per layer, and the head
  EXPECT_EQ(passes(100), one);
}

}  // namespace
}  // namespace brio::invariance
