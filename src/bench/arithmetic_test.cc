// The arithmetic of the reports: medians, roofs, bytes and multiply-adds of a step.
#include <gtest/gtest.h>

#include "bench/probe.h"
#include "bench/roof.h"
#include "bench/statistics.h"
#include "bench/step_cost.h"

namespace brio::bench {
namespace {

TEST(Spread, IsTheMedianBetweenTheExtremes) {
  const Spread odd = spread({3.0, 1.0, 10.0});
  EXPECT_EQ(odd.median, 3.0);
  EXPECT_EQ(odd.min, 1.0);
  EXPECT_EQ(odd.max, 10.0);
  EXPECT_EQ(spread({4.0, 1.0, 2.0, 9.0}).median, 3.0);
  EXPECT_EQ(spread({5.0}).median, 5.0);
  EXPECT_EQ(spread({}).median, 0.0);
  EXPECT_DOUBLE_EQ(drift({1.5, 1.0, 1.75}), 0.75);
  EXPECT_EQ(drift({}), 0.0);
}

constexpr Rates kRates = {.read = 30e9, .cache = 300e9, .int8 = 400e9, .bf16 = 200e9, .fp32 = 100e9};

TEST(Roof, IsTheLongerOfReadingAndMultiplying) {
  const Work decode{.bytes = 30e9, .macs = 40e9};  // 1 s and 0.1 s
  EXPECT_DOUBLE_EQ(roof(decode, kRates).seconds, 1.0);
  EXPECT_EQ(roof(decode, kRates).limit, Limit::kMemory);
  const Work prefill{.bytes = 30e9, .macs = 800e9};
  EXPECT_DOUBLE_EQ(roof(prefill, kRates).seconds, 2.0);
  EXPECT_EQ(roof(prefill, kRates).limit, Limit::kInt8);
}

TEST(Roof, TakesTheProbeOfItsArithmeticAndSource) {
  Work work{.bytes = 3e9, .macs = 400e9, .arithmetic = Arithmetic::kBF16};
  EXPECT_DOUBLE_EQ(roof(work, kRates).seconds, 2.0);
  EXPECT_EQ(roof(work, kRates).limit, Limit::kBF16);
  work.arithmetic = Arithmetic::kFP32;
  EXPECT_DOUBLE_EQ(roof(work, kRates).seconds, 4.0);
  EXPECT_EQ(roof(work, kRates).limit, Limit::kFP32);
  const Work in_cache{.bytes = 3e9, .source = Source::kCache};
  EXPECT_DOUBLE_EQ(roof(in_cache, kRates).seconds, 0.01);
  EXPECT_EQ(roof(in_cache, kRates).limit, Limit::kCache);
}

const std::vector<TensorSize> kLayer = {{"blk.0.attn_norm.weight", 1, 64, 256},
                                        {"blk.0.attn_q.weight", 48, 64, 1728},
                                        {"blk.0.ffn_down.weight", 64, 96, 6528}};

std::vector<TensorSize> with(std::vector<TensorSize> more) {
  more.insert(more.end(), kLayer.begin(), kLayer.end());
  return more;
}

TEST(StepCost, ATiedEmbeddingIsReadAsTheHead) {
  const StepCost cost = step_cost(with({{"token_embd.weight", 320, 64, 21760}}));
  EXPECT_EQ(cost.weight_bytes, 21760 + 256 + 1728 + 6528);
  EXPECT_EQ(cost.bytes_of_head, 21760);
  EXPECT_EQ(cost.macs_per_row, 48 * 64 + 64 * 96);
  EXPECT_EQ(cost.macs_per_logits_row, 320 * 64);
}

TEST(StepCost, AnEmbeddingBesideAnOutputIsNotRead) {
  const StepCost cost = step_cost(with({{"token_embd.weight", 320, 64, 21760}, {"output.weight", 320, 64, 40960}}));
  EXPECT_EQ(cost.weight_bytes, 40960 + 256 + 1728 + 6528);
  EXPECT_EQ(cost.bytes_of_head, 40960);
  EXPECT_EQ(cost.macs_per_row, 48 * 64 + 64 * 96);
  EXPECT_EQ(cost.macs_per_logits_row, 320 * 64);
}

TEST(StepCost, KeysAndValuesAreThoseInTheWindow) {
  using tensor::KvSpec;
  const KvSpec full{KvSpec::Kind::kFull, 0, 2, 128, tensor::KvType::kBF16};
  const KvSpec window{KvSpec::Kind::kWindow, 100, 2, 128, tensor::KvType::kBF16};
  constexpr int64_t kPerToken = 2 * 2 * 128 * 2;  // keys and values, heads, channels, bytes
  const std::vector<KvSpec> layers = {full, window};
  EXPECT_EQ(kv_bytes_read(layers, 1000), kPerToken * (1000 + 100));
  EXPECT_EQ(kv_bytes_read(layers, 40), kPerToken * (40 + 40));
  EXPECT_EQ(kv_bytes_read(layers, 0), 0);
}

ProbeRound round_of(double plain, double ahead, double int8, double fp32) {
  return {{{Limit::kMemory, "plain", plain},
           {Limit::kMemory, "ahead", ahead},
           {Limit::kInt8, "dots", int8},
           {Limit::kFP32, "fma", fp32}}};
}

TEST(ProbeRound, TheBestVariantCounts) {
  const Rates rates = round_of(20e9, 30e9, 400e9, 100e9).rates();
  EXPECT_EQ(rates.read, 30e9);
  EXPECT_EQ(rates.int8, 400e9);
  EXPECT_EQ(rates.bf16, 100e9) << "without a probe of its own it is fp32's";
}

TEST(ProbeSummary, HasMediansOfVariantsAndOfTheBest) {
  const auto summaries =
      summarize({round_of(20e9, 30e9, 400e9, 1e9), round_of(35e9, 31e9, 410e9, 1e9), round_of(21e9, 32e9, 420e9, 1e9)});
  ASSERT_EQ(summaries.size(), 3U);
  EXPECT_EQ(summaries[0].probe, Limit::kMemory);
  EXPECT_EQ(summaries[0].rate.median, 32e9);
  EXPECT_EQ(summaries[0].rate.min, 30e9);
  EXPECT_EQ(summaries[0].rate.max, 35e9);
  ASSERT_EQ(summaries[0].variants.size(), 2U);
  EXPECT_EQ(summaries[0].variants[0].rate, 21e9);
  EXPECT_EQ(summaries[0].variants[1].rate, 31e9);
  EXPECT_TRUE(summarize({}).empty());
}

TEST(ProbeSummary, WarnsWhenAProbeMovedByMoreThanATenth) {
  const auto steady = summarize({round_of(30e9, 1, 400e9, 1e9), round_of(32.9e9, 1, 400e9, 1e9)});
  EXPECT_TRUE(drift_warnings(steady).empty());
  const auto moved = summarize({round_of(30e9, 1, 400e9, 1e9), round_of(33.1e9, 1, 400e9, 1e9)});
  const auto warnings = drift_warnings(moved);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("the read probe moved by 10 %"), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace brio::bench
