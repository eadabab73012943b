// Frequencies and tables against values from the papers' formulas, evaluated independently (numpy, float64).
#include "ops/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace brio::ops {
namespace {

RopeSpec spec_of(RopeSpec::Scaling scaling, int rotary_dim, double base, double factor) {
  RopeSpec spec;
  spec.rotary_dim = rotary_dim;
  spec.base = base;
  spec.scaling = scaling;
  spec.factor = factor;
  return spec;
}

void expect_frequencies(const RopeSpec& spec, const std::vector<double>& want, double relative = 1e-13) {
  const std::vector<double> got = rope_frequencies(spec);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], want[i] * relative) << i;
}

TEST(RopeTable, PlainFrequencies) {
  const RopeSpec spec = spec_of(RopeSpec::Scaling::kNone, 10, 500000.0, 1.0);
  expect_frequencies(spec,
                     {1.0, 0.07247796636776954, 0.0052530556088075326, 0.00038073078774317583, 2.759459322922428e-05});
}

TEST(RopeTable, LinearScalingDividesAll) {
  const RopeSpec spec = spec_of(RopeSpec::Scaling::kLinear, 8, 10000.0, 8.0);
  expect_frequencies(spec, {0.125, 0.0125, 0.00125, 0.000125});
}

TEST(RopeTable, Llama3Scaling) {
  RopeSpec spec = spec_of(RopeSpec::Scaling::kLlama3, 32, 500000.0, 8.0);
  spec.original_context = 8192;
  expect_frequencies(spec,
                     {1.0, 0.44036660267178046, 0.19392274474868576, 0.08539710028576561, 0.03760603093086393,
                      0.016560440080994446, 0.007292664737217109, 0.003211445994752591, 0.0005248461609929547,
                      7.78465527393245e-05, 3.428102195952591e-05, 1.509621717643313e-05, 6.647869871181235e-06,
                      2.9274998701761677e-06, 1.2891731721515574e-06, 5.677088100759837e-07},
                     0x1p-24);  // the divisor is rounded to fp32
}

TEST(RopeTable, YarnScaling) {
  RopeSpec spec = spec_of(RopeSpec::Scaling::kYarn, 32, 1000000.0, 4.0);
  spec.original_context = 32768;
  expect_frequencies(spec, {1.0, 0.4216965034285822, 0.1778279410038923, 0.07498942093324558, 0.03162277660168379,
                            0.01333521432163324, 0.0047799012641179675, 0.0016599615939631588, 0.00055,
                            0.0001686786013714329, 4.445698525097307e-05, 1.8747355233311396e-05, 7.905694150420949e-06,
                            3.33380358040831e-06, 1.4058533129758728e-06, 5.928434264154138e-07});
}

TEST(RopeTable, FrequencyFactorsDivide) {
  RopeSpec spec = spec_of(RopeSpec::Scaling::kNone, 8, 10000.0, 1.0);
  const std::vector<double> plain = rope_frequencies(spec);
  spec.frequency_factors = {1.0F, 2.0F, 4.0F, 8.0F};
  const std::vector<double> scaled = rope_frequencies(spec);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_DOUBLE_EQ(scaled[i] * spec.frequency_factors[i], plain[i]);
}

TEST(RopeTable, EntriesAreCosAndSinOfThePositionWhateverTheGrowth) {
  for (const auto scaling : {RopeSpec::Scaling::kNone, RopeSpec::Scaling::kYarn}) {
    RopeSpec spec = spec_of(scaling, 64, 1e6, 4.0);
    spec.original_context = 4096;
    const std::vector<double> frequencies = rope_frequencies(spec);
    const double magnitude = scaling == RopeSpec::Scaling::kYarn ? 0.1 * std::log(4.0) + 1.0 : 1.0;
    RopeTable at_once(spec);
    RopeTable grown(spec);
    at_once.extend(3000);
    for (int end : {1, 2, 33, 40, 39, 1000, 3000}) grown.extend(end);
    for (int position : {0, 1, 31, 32, 39, 40, 999, 2999}) {
      for (int pair = 0; pair < 32; ++pair) {
        const double angle = position * frequencies[static_cast<size_t>(pair)];
        ASSERT_EQ(grown.cos(position)[pair], at_once.cos(position)[pair]);
        ASSERT_EQ(grown.sin(position)[pair], at_once.sin(position)[pair]);
        ASSERT_NEAR(grown.cos(position)[pair], std::cos(angle) * magnitude, 1.2 * 0x1p-24);
        ASSERT_NEAR(grown.sin(position)[pair], std::sin(angle) * magnitude, 1.2 * 0x1p-24);
      }
    }
  }
}

TEST(RopeTable, FarPositionsKeepTheirPrecision) {
  const RopeSpec spec = spec_of(RopeSpec::Scaling::kNone, 2, 10000.0, 1.0);  // frequency 1
  RopeTable table(spec);
  table.extend(1000001);
  EXPECT_NEAR(table.sin(1000000)[0], std::sin(1e6), 0x1p-24);
  EXPECT_NEAR(table.cos(1000000)[0], std::cos(1e6), 0x1p-24);
}

}  // namespace
}  // namespace brio::ops
