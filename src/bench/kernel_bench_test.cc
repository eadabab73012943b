// What `brio bench kernels` selects, counts and reports; never how long anything takes.
#include "bench/kernel_bench.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

namespace brio::bench {
namespace {

using tensor::DType;

KernelBenchOptions small_options(std::string filter) {
  KernelBenchOptions options;
  options.types = {DType::kQ4_K, DType::kQ8_0, DType::kBF16, DType::kF32};
  options.rows = {1, 3};
  options.filter = std::move(filter);
  options.rounds = 2;
  options.threads = 2;
  options.isa = cpu_supports(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
  options.working_set_bytes = 1 << 20;
  options.probe_bytes = 1 << 20;
  options.sample_time = {};
  return options;
}

KernelReport run(const KernelBenchOptions& options) {
  auto report = run_kernel_bench(options, [](const KernelResult&) { return true; });
  EXPECT_TRUE(report.ok()) << report.error().message;
  return std::move(report).value();
}

TEST(KernelGroups, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  const std::vector<CaseGroup> groups = selected_groups(small_options(""));
  for (const CaseGroup& group : groups) names.insert(group.name);
  EXPECT_EQ(names.size(), groups.size());
  EXPECT_TRUE(names.contains("linear Q4_K qwen2.5-coder-1.5b.qkv 2048x1536"));
  EXPECT_TRUE(names.contains("linear F32 gemma3-270m.head 262144x640"));
  EXPECT_TRUE(names.contains("attention bf16 decode 12:2x128 at 16384"));
  EXPECT_TRUE(names.contains("attention bf16 prefill 4:1x256 at 4096"));
  EXPECT_TRUE(names.contains("row rms_norm 1536"));
  EXPECT_FALSE(names.contains("linear Q4_K smollm2-135m.qkv 960x576")) << "K is no multiple of 256";
}

TEST(KernelBench, CountsBytesAndProductsOfLinearLayers) {
  const KernelReport report = run(small_options("smollm2-135m.down"));
  ASSERT_EQ(report.results.size(), 8U);  // four types, two numbers of rows
  for (const KernelResult& result : report.results) {
    EXPECT_EQ(result.work.macs, 576.0 * 1536 * result.rows) << result.name;
    EXPECT_GT(result.seconds.min, 0.0) << result.name;
    EXPECT_LE(result.seconds.min, result.seconds.median);
    EXPECT_LE(result.seconds.median, result.seconds.max);
    EXPECT_GT(result.share.median, 0.0);
  }
  EXPECT_EQ(report.results[0].rows, 1);
  EXPECT_EQ(report.results[1].rows, 3);
  EXPECT_EQ(report.results[0].work.bytes, 576.0 * 1536 * 4.5 / 8) << "Q4_K panels: 2304 bytes for 16 x 256";
  EXPECT_EQ(report.results[4].work.bytes, 576.0 * 1536 * 2) << "BF16";
  EXPECT_EQ(report.results[4].work.arithmetic, Arithmetic::kBF16);
  EXPECT_EQ(report.results[6].work.arithmetic, Arithmetic::kFP32);
}

TEST(KernelBench, SharesAnInputAsModelsDo) {
  const KernelReport report = run(small_options("Q8_0 smollm2-135m."));
  ASSERT_EQ(report.results.size(), 10U);  // qkv, attention_out, gate_up, down, head
  EXPECT_EQ(report.results[0].name, "linear Q8_0 smollm2-135m.qkv 960x576");
  EXPECT_EQ(report.results[4].name, "linear Q8_0 smollm2-135m.gate_up 3072x576");
  EXPECT_EQ(report.results[4].work.macs, 3072.0 * 576);
  EXPECT_EQ(report.results[9].work.macs, 3 * 49152.0 * 576);
}

TEST(KernelBench, CountsVisibleKeysOfAttention) {
  const KernelReport decode = run(small_options("decode 12:2x128 at 4096"));
  ASSERT_EQ(decode.results.size(), 1U);
  EXPECT_EQ(decode.results[0].work.bytes, 4096.0 * 2 * 2 * 128 * 2);
  EXPECT_EQ(decode.results[0].work.macs, 4096.0 * 12 * 128 * 2);
  EXPECT_EQ(decode.results[0].rows, 1);
  const KernelReport prefill = run(small_options("prefill 14:2x64"));
  ASSERT_EQ(prefill.results.size(), 1U);
  constexpr double kPairs = 512.0 * (3585 + 4096) / 2;
  EXPECT_EQ(prefill.results[0].work.macs, kPairs * 14 * 64 * 2);
  EXPECT_EQ(prefill.results[0].rows, 512);
}

TEST(KernelBench, RowKernelsAreHeldAgainstTheCache) {
  const KernelReport report = run(small_options("row "));
  ASSERT_EQ(report.results.size(), 9U);
  for (const KernelResult& result : report.results) EXPECT_EQ(result.limit, Limit::kCache) << result.name;
}

TEST(KernelBench, StopsWhenTold) {
  auto report = run_kernel_bench(small_options("row "), [](const KernelResult&) { return false; });
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->results.size(), 1U);
}

TEST(KernelBench, AFilterThatSelectsNothingIsAnError) {
  const auto report = run_kernel_bench(small_options("convolution"), [](const KernelResult&) { return true; });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(report.error().message.find("'convolution'"), std::string::npos);
}

TEST(KernelBench, AWorkingSetBeyondTheMemoryIsAnError) {
  KernelBenchOptions options = small_options("row ");
  options.working_set_bytes = memory_limit_bytes();
  const auto report = run_kernel_bench(options, [](const KernelResult&) { return true; });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kOutOfMemory);
}

TEST(CheckShares, MoreThanTheRoofIsAnErrorThatNamesTheKernel) {
  KernelResult fair;
  fair.name = "linear A";
  fair.rows = 2;
  fair.share = {0.99, 0.9, 1.2};
  KernelResult wrong = fair;
  wrong.name = "linear B";
  wrong.rows = 4;
  wrong.share.median = 1.04;
  EXPECT_TRUE(check_shares({fair}).ok());
  const auto checked = check_shares({fair, wrong});
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, ErrorCode::kNumeric);
  EXPECT_NE(checked.error().message.find("linear B with 4 rows (104 % of read)"), std::string::npos);
  EXPECT_EQ(checked.error().message.find("linear A"), std::string::npos);
}

TEST(KernelReport, JsonHasEveryNumberOfTheTable) {
  const KernelReport report = run(small_options("row exp"));
  const boost::json::object json = boost::json::parse(to_json(report)).as_object();
  EXPECT_EQ(json.at("bench"), "kernels");
  EXPECT_EQ(json.at("machine").at("threads"), 2);
  EXPECT_EQ(json.at("rounds"), 2);
  ASSERT_EQ(json.at("results").as_array().size(), 1U);
  const boost::json::object& result = json.at("results").as_array()[0].as_object();
  EXPECT_EQ(result.at("kernel"), "row exp 1536");
  EXPECT_EQ(result.at("limit"), "cache");
  for (const char* key : {"rows", "bytes", "macs", "gb_per_second", "gmac_per_second"})
    EXPECT_TRUE(result.contains(key));
  for (const char* key : {"us", "share"}) {
    for (const char* part : {"median", "min", "max"}) EXPECT_TRUE(result.at(key).as_object().contains(part));
  }
  std::set<std::string> probes;
  for (const auto& probe : json.at("probes").as_array()) {
    probes.emplace(probe.at("probe").as_string());
    EXPECT_FALSE(probe.at("variants").as_array().empty());
  }
  for (const char* probe : {"read", "cache", "int8", "fp32"}) EXPECT_TRUE(probes.contains(probe)) << probe;
  EXPECT_TRUE(json.at("warnings").is_array());
}

}  // namespace
}  // namespace brio::bench
