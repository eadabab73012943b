// The law of invariance on tiny models (DESIGN section 4): the logits of a text are the same bits alone and among
// neighbours, in any chunks, on any number of threads, on every instruction set, with any compiler.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/numerics_id.h"
#include "invariance/tiny_run.h"

namespace brio::invariance {
namespace {

// The best ISA here, on which one thread and one chunk make the expectation.
Isa best_isa() {
  return cpu_supports(Isa::kAvx512) ? Isa::kAvx512 : cpu_supports(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
}

std::vector<tiny::TinySpec> all_specs() {
  std::vector<tiny::TinySpec> specs = tiny::shape_specs();
  for (auto& spec : tiny::type_specs()) specs.push_back(std::move(spec));
  return specs;
}

int text_length(const tiny::TinySpec& spec) {
  return spec.vocab > 1000 ? 40 : 100;
}  // past three blocks, no multiple of 32

class LogitsOf : public testing::TestWithParam<tiny::TinySpec> {
 protected:
  void SetUp() override {
    path_ = gguf_of(GetParam());
    model_ = load(path_, 1, best_isa());
    text_ = random_tokens(text_length(GetParam()), GetParam().vocab, 5);
    expected_ = run_alone(*model_.model, text_, static_cast<int>(text_.size()));
  }
  int vocab() const { return GetParam().vocab; }

  std::filesystem::path path_;
  TinyModel model_;
  Tokens text_;
  Logits expected_;
};

TEST_P(LogitsOf, DoNotDependOnChunks) {
  for (const int chunk : {1, 7, 32, 33}) {
    EXPECT_TRUE(same_bits(expected_, run_alone(*model_.model, text_, chunk), vocab())) << "chunk " << chunk;
  }
}

TEST_P(LogitsOf, DoNotDependOnNeighboursRowsOrArrival) {
  for (const uint64_t seed : {1, 2, 3}) {
    std::vector<Tokens> texts;
    for (uint64_t t = 0; t < 5; ++t) {
      texts.push_back(t == seed ? text_ : random_tokens(20 + static_cast<int>(17 * t), vocab(), 100 * seed + t));
    }
    const auto logits = run(*model_.model, texts, {24, true, 2, seed});
    EXPECT_TRUE(same_bits(expected_, logits[seed], vocab())) << "mixture " << seed;
  }
}

TEST_P(LogitsOf, DoNotDependOnThreads) {
  for (const int threads : {2, 5}) {
    const TinyModel other = load(path_, threads, best_isa());
    EXPECT_TRUE(same_bits(expected_, run_alone(*other.model, text_, 29), vocab())) << threads << " threads";
  }
}

TEST_P(LogitsOf, DoNotDependOnTheInstructionSet) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (!cpu_supports(isa) || isa == best_isa()) continue;
    const TinyModel other = load(path_, 2, isa);
    EXPECT_TRUE(same_bits(expected_, run_alone(*other.model, text_, 64), vocab())) << name(isa);
  }
}

// tests/golden/logits.txt: "<numerics id> <model> <sha256>" per line. Every compiler and machine must reproduce it; a change
// of rounding raises kNumericsId and rewrites the file (the failure prints the new line).
TEST_P(LogitsOf, HaveTheHashOfThisNumericsId) {
  std::ifstream in("tests/golden/logits.txt");
  std::map<std::string, std::string> hashes;
  for (std::string id, model, hash; in >> id >> model >> hash;) {
    if (id == std::to_string(kNumericsId)) hashes[model] = hash;
  }
  const std::string hash = sha256(expected_);
  EXPECT_EQ(hashes[GetParam().name], hash) << kNumericsId << " " << GetParam().name << " " << hash;
}

std::string test_name(const testing::TestParamInfo<tiny::TinySpec>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Tiny, LogitsOf, testing::ValuesIn(all_specs()), test_name);

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
    EXPECT_TRUE(same_bits(run_alone(*gguf.model, text, 40), run_alone(*safetensors.model, text, 40), spec.vocab));
  }
}
INSTANTIATE_TEST_SUITE_P(Tiny, Checkpoints, testing::ValuesIn(tiny::shape_specs()), test_name);

// Each linear weight is read once per step whatever the rows.
TEST(WeightPasses, DoNotGrowWithRows) {
  const tiny::TinySpec spec = tiny::shape_specs()[0];
  const TinyModel tiny = load(gguf_of(spec), 2, best_isa());
  const auto passes = [&](int rows) {
    const int64_t before = tiny.model->ops().weight_passes();
    run_alone(*tiny.model, random_tokens(rows, spec.vocab, 3), rows);
    return tiny.model->ops().weight_passes() - before;
  };
  const int64_t one = passes(1);
  EXPECT_EQ(one, spec.layers * 7 + 1);  // q, k, v, o, gate, up, down per layer, and the head
  EXPECT_EQ(passes(100), one);
}

}  // namespace
}  // namespace brio::invariance
