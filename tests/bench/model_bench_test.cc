// `brio bench model` on tiny models: what it measures and reports, never how long that takes.
#include "bench/model_bench.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "base/check.h"
#include "base/temporary_folder.h"
#include "bench/model_run.h"
#include "engine/scorer.h"
#include "ops/cpu_ops.h"
#include "tiny/tiny_model.h"
#include "weights/checkpoint.h"

namespace brio::bench {
namespace {

template <typename T>
T take(Result<T> result) {
  BRIO_CHECK(result.ok(), "{}", result.error().message);
  return std::move(result).value();
}

const tiny::TinySpec& spec_named(const std::string& name) {
  static const std::vector<tiny::TinySpec> all = [] {
    std::vector<tiny::TinySpec> specs = tiny::shape_specs();
    const std::vector<tiny::TinySpec> types = tiny::type_specs();
    specs.insert(specs.end(), types.begin(), types.end());
    return specs;
  }();
  const auto found = std::find_if(all.begin(), all.end(), [&](const tiny::TinySpec& s) { return s.name == name; });
  BRIO_CHECK(found != all.end(), "{}", name);
  return *found;
}

ModelBenchOptions small_options() {
  ModelBenchOptions options;
  options.prompt = 5;
  options.tokens = 3;
  options.batches = {1, 3};
  options.contexts = {0, 40};
  options.rounds = 2;
  options.threads = 2;
  options.isa = cpu_supports(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
  options.probe_bytes = 1 << 20;
  return options;
}

class ModelBench : public testing::Test {
 protected:
  ModelUnderTest load(const std::string& name, const ModelBenchOptions& options) {
    const std::filesystem::path path = folder_.path() / (name + ".gguf");
    BRIO_CHECK(tiny::write_gguf(spec_named(name), path).ok());
    const weights::Checkpoint checkpoint = take(weights::Checkpoint::open(path));
    return take(load_for_bench(checkpoint, options, [](double) {}));
  }

  TemporaryFolder folder_;
};

constexpr auto kGoOn = [](double) { return true; };

TEST_F(ModelBench, MeasuresWhatItSays) {
  const ModelBenchOptions options = small_options();
  ModelUnderTest tested = load("llama-Q4_K", options);
  const tiny::TinySpec& spec = spec_named("llama-Q4_K");
  const ModelReport report = take(run_model_bench(tested, options, kGoOn));
  ASSERT_EQ(report.cases.size(), 6U);  // prefill, decode of 1 and of 3, at both contexts
  const int64_t kv_token = 2LL * spec.layers * spec.kv_heads * spec.head_dim * 2;
  for (const ModelCase& measured : report.cases) {
    const int rows = measured.phase == Phase::kPrefill ? 5 : measured.batch;
    EXPECT_EQ(measured.rows_per_step, rows);
    EXPECT_TRUE(measured.skipped.empty()) << measured.skipped;
    EXPECT_GT(measured.tokens_per_second.min, 0.0);
    EXPECT_GT(measured.share.median, 0.0);
    const int logits = measured.phase == Phase::kPrefill ? 1 : measured.batch;
    EXPECT_EQ(measured.macs_per_step,
              static_cast<double>(report.cost.macs_per_row * rows + report.cost.macs_per_logits_row * logits));
    // Keys that rows see: all of a prefill's, and on average those of the middle one of three steps.
    const int first = std::max(measured.context, 1);
    const int keys = measured.phase == Phase::kPrefill ? measured.context + 5 : (first + 2) * measured.batch;
    EXPECT_DOUBLE_EQ(measured.bytes_per_step, static_cast<double>(report.cost.weight_bytes + kv_token * keys));
  }
  EXPECT_EQ(report.cases[0].phase, Phase::kPrefill);
  EXPECT_EQ(report.cases[2].batch, 3);
  EXPECT_EQ(report.cases[5].context, 40);
}

TEST_F(ModelBench, AContextIsNotComputed) {
  ModelBenchOptions options = small_options();
  ModelUnderTest tested = load("llama-Q4_K", options);
  take(run_once({Phase::kDecode, 1, 0, 1, 1}, tested, Timing::kOff));  // somebody has made logits
  const int64_t before = tested.model->filled_rows();
  const RunResult run = take(run_once({Phase::kDecode, 3, 40, 2, 1}, tested, Timing::kOff));
  EXPECT_EQ(tested.model->filled_rows() - before, 3 * 40);
  EXPECT_EQ(run.steps, 2);
  EXPECT_EQ(run.rows, 6);
  EXPECT_EQ(run.logits_rows, 6);
}

TEST_F(ModelBench, WithoutAContextItIsTheModel) {
  const ModelBenchOptions options = small_options();
  ModelUnderTest tested = load("qwen2-gqa7", options);
  const weights::Checkpoint checkpoint = take(weights::Checkpoint::open(folder_.path() / "qwen2-gqa7.gguf"));
  std::shared_ptr<ops::OpSet> device = take(ops::CpuOps::create(*tested.pool, options.isa, tensor::Numerics::kDefault));
  model::BuildOptions build;
  const auto plain = take(model::build_model(checkpoint, device, *tested.pool, build));
  std::vector<int32_t> tokens(30);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(7 * i % 300);
  const auto logits_of = [&](model::Model& model) {
    std::vector<float> logits;
    engine::Scorer scorer = take(engine::Scorer::create(model, 30, 16));
    const Result<void> scored = scorer.score(tokens, [&](int, std::span<const float> row) -> Result<void> {
      logits.insert(logits.end(), row.begin(), row.end());
      return {};
    });
    EXPECT_TRUE(scored.ok());
    return logits;
  };
  EXPECT_EQ(logits_of(*tested.model), logits_of(*plain));
}

TEST_F(ModelBench, BreaksAStepDown) {
  ModelBenchOptions options = small_options();
  options.contexts = {0};
  ModelUnderTest tested = load("llama-Q4_K", options);
  const ModelReport report = take(run_model_bench(tested, options, kGoOn));
  for (const ModelCase& measured : report.cases) {
    double share = 0.0;
    std::set<std::string> names;
    for (const OpShare& op : measured.breakdown) {
      share += op.share;
      names.insert(op.op.substr(0, op.op.find(' ')));
    }
    EXPECT_NEAR(share, 1.0, 1e-9);
    for (const char* op : {"embed", "norm,", "linear", "gated", "rope,", "attention", "scheduling,"}) {
      EXPECT_TRUE(names.contains(op)) << op;
    }
  }
}

TEST_F(ModelBench, WindowLayersDecodeFarBeyondTheirWindow) {
  ModelBenchOptions options = small_options();
  options.batches = {40};
  options.contexts = {600};
  options.rounds = 1;
  const tiny::TinySpec& spec = spec_named("gemma3-mqa-d256-window5");
  ModelUnderTest tested = load(spec.name, options);
  const ModelReport report = take(run_model_bench(tested, options, kGoOn));
  ASSERT_EQ(report.cases.size(), 2U);
  EXPECT_EQ(report.cases[1].rows_per_step, 40);
}

TEST_F(ModelBench, NeedsSomethingToMeasureAndAContextThatHoldsIt) {
  ModelBenchOptions options = small_options();
  ModelUnderTest tested = load("llama-Q4_K", options);
  options.contexts = {1 << 20};
  auto report = run_model_bench(tested, options, kGoOn);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kContextLengthExceeded);
  EXPECT_NE(report.error().message.find("--kv 1048576"), std::string::npos) << report.error().message;
  options = small_options();
  options.prompt = options.tokens = 0;
  report = run_model_bench(tested, options, kGoOn);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ModelBench, StopsWhenTold) {
  const ModelBenchOptions options = small_options();
  ModelUnderTest tested = load("llama-Q4_K", options);
  const auto report = run_model_bench(tested, options, [](double done) { return done < 0.5; });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace brio::bench
