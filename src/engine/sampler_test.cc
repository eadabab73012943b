#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "base/rng.h"

namespace brio::engine {
namespace {

std::vector<float> random_logits(Rng& rng, int vocab) {
  std::vector<float> logits;
  for (int i = 0; i < vocab; ++i) logits.push_back(std::round(rng.uniform(-8.0F, 8.0F) * 4.0F) / 4.0F);  // with ties
  return logits;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  const double peak = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  for (float logit : logits) p.push_back(std::exp((static_cast<double>(logit) - peak) / temperature));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
  return p;
}

// The tokens that the filters keep, by their definitions.
std::set<int32_t> reference_filter(const std::vector<float>& logits, const SamplingParams& sampling) {
  const std::vector<double> p = softmax(logits, static_cast<double>(sampling.temperature));
  std::vector<int32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  if (sampling.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(sampling.top_k)));
  double total = 0.0;
  for (int32_t token : order) total += p[static_cast<size_t>(token)];
  std::set<int32_t> kept;
  double reached = 0.0;
  for (int32_t token : order) {
    const double mass = p[static_cast<size_t>(token)];
    if (mass >= static_cast<double>(sampling.min_p) * p[static_cast<size_t>(order[0])]) kept.insert(token);
    reached += mass / total;
    if (sampling.top_p < 1.0F && reached >= static_cast<double>(sampling.top_p)) break;
  }
  return kept;
}

TEST(Candidates, FiltersKeepWhatTheirDefinitionsSay) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    const std::vector<float> logits = random_logits(rng, 1 + static_cast<int>(rng.below(200)));
    SamplingParams sampling;
    sampling.temperature = rng.uniform(0.2F, 3.0F);
    if (rng.below(2) == 0) sampling.top_k = 1 + static_cast<int>(rng.below(250));
    if (rng.below(2) == 0) sampling.top_p = rng.uniform(0.01F, 0.999F);
    if (rng.below(2) == 0) sampling.min_p = rng.uniform(0.001F, 1.0F);
    if (!filters(sampling)) continue;
    std::vector<Candidate> kept;
    filter(logits, *std::max_element(logits.begin(), logits.end()), 1.0F / sampling.temperature, sampling, kept);
    std::set<int32_t> tokens;
    for (const Candidate& candidate : kept) tokens.insert(candidate.token);
    EXPECT_EQ(tokens, reference_filter(logits, sampling))
        << seed << " k " << sampling.top_k << " p " << sampling.top_p << " min " << sampling.min_p;
  }
}

TEST(Candidates, TopKIsTheHeadOfTheSortedRow) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const std::vector<float> logits = random_logits(rng, 1 + static_cast<int>(rng.below(300)));
    std::vector<int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    const int k = static_cast<int>(rng.below(320));
    std::vector<Candidate> top;
    select_top_k(logits, 0.0F, 1.0F, k, top);
    ASSERT_EQ(top.size(), std::min(logits.size(), static_cast<size_t>(k)));
    for (size_t i = 0; i < top.size(); ++i) ASSERT_EQ(top[i].token, order[i]);
  }
}

TEST(Gumbel, OnePassFindsTheArgmaxOfScorePlusNoise) {
  for (int vocab : {1, 3, 4, 5, 63, 1000}) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      Rng rng(seed);
      const std::vector<float> logits = random_logits(rng, vocab);
      const float peak = *std::max_element(logits.begin(), logits.end());
      const float inverse = 1.0F / rng.uniform(0.05F, 3.0F);
      const NoiseKey key{seed * 1234567891011ULL, static_cast<uint32_t>(seed), 77, 0};
      const GumbelNoise noise(key);
      int32_t best = 0;
      double best_value = -1e300;
      for (int32_t token = 0; token < vocab; ++token) {
        const double value =
            static_cast<double>((logits[static_cast<size_t>(token)] - peak) * inverse) + noise.of(token);
        if (value > best_value) {
          best_value = value;
          best = token;
        }
      }
      EXPECT_EQ(gumbel_argmax(logits, peak, inverse, key), best);
    }
  }
  EXPECT_LT(GumbelNoise::from_bits(UINT32_MAX), kMaxNoise);
  EXPECT_TRUE(std::isfinite(GumbelNoise::from_bits(0)));
}

// Sum over tokens of (observed - expected)^2 / expected, for `draws` draws with seeds 0, 1, 2, ...
double chi_square(const std::vector<float>& logits, const SamplingParams& sampling, const std::vector<double>& p,
                  int draws) {
  Sampler sampler;
  std::vector<int> observed(logits.size(), 0);
  for (int i = 0; i < draws; ++i) {
    const Result<Draw> draw = sampler.draw(logits, {&sampling, nullptr, {}, {static_cast<uint64_t>(i), 0, 9, 0}});
    ++observed[static_cast<size_t>(draw->token)];
  }
  double sum = 0.0;
  for (size_t t = 0; t < p.size(); ++t) {
    const double expected = p[t] * draws;
    if (expected == 0.0) {
      EXPECT_EQ(observed[t], 0) << "token " << t << " was filtered out";
    } else {
      sum += (observed[t] - expected) * (observed[t] - expected) / expected;
    }
  }
  return sum;
}

// 8 tokens: 7 degrees of freedom exceed 40.5 once in a million; the draws are fixed, so this cannot flicker.
TEST(Sampler, DrawsFollowTheDistribution) {
  const std::vector<float> logits = {1.0F, 2.0F, -1.0F, 0.5F, 2.5F, 0.0F, -0.5F, 1.5F};
  for (float temperature : {0.5F, 1.0F, 1.7F}) {
    SamplingParams sampling;
    sampling.temperature = temperature;
    const std::vector<double> p = softmax(logits, static_cast<double>(temperature));
    EXPECT_LT(chi_square(logits, sampling, p, 40000), 40.5) << temperature;
    sampling.top_k = 4;
    std::vector<double> kept = p;
    for (size_t t : {2U, 3U, 5U, 6U}) kept[t] = 0.0;
    const double mass = std::accumulate(kept.begin(), kept.end(), 0.0);
    for (double& value : kept) value /= mass;
    EXPECT_LT(chi_square(logits, sampling, kept, 40000), 40.5) << temperature;
    EXPECT_GT(chi_square(logits, sampling, kept, 40000), 0.0);
  }
}

TEST(Sampler, FilteringDoesNotChangeTheNoiseOfWhatRemains) {
  Sampler sampler;
  int compared = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const std::vector<float> logits = random_logits(rng, 50);
    SamplingParams plain;
    SamplingParams filtered;
    filtered.top_k = 10;
    const NoiseKey key{seed, 1, 2, 0};
    const int32_t winner = sampler.draw(logits, {&plain, nullptr, {}, key})->token;
    std::vector<Candidate> top;
    select_top_k(logits, 0.0F, 1.0F, 10, top);
    if (std::none_of(top.begin(), top.end(), [&](const Candidate& c) { return c.token == winner; })) continue;
    ++compared;
    EXPECT_EQ(sampler.draw(logits, {&filtered, nullptr, {}, key})->token, winner);
  }
  EXPECT_GT(compared, 200);
}

TEST(Sampler, NoiseDependsOnEveryPartOfItsKey) {
  const std::vector<float> flat(1000, 0.0F);
  Sampler sampler;
  SamplingParams sampling;
  std::set<int32_t> tokens;
  for (const NoiseKey& key : {NoiseKey{1, 0, 0, 0}, NoiseKey{2, 0, 0, 0}, NoiseKey{1ULL << 40, 0, 0, 0},
                              NoiseKey{1, 1, 0, 0}, NoiseKey{1, 0, 1, 0}, NoiseKey{1, 0, 0, 1}}) {
    tokens.insert(sampler.draw(flat, {&sampling, nullptr, {}, key})->token);
    EXPECT_EQ(sampler.draw(flat, {&sampling, nullptr, {}, key})->token,
              sampler.draw(flat, {&sampling, nullptr, {}, key})->token);
  }
  EXPECT_EQ(tokens.size(), 6U);
}

TEST(Sampler, GreedyTakesTheLowestIdAmongEquals) {
  Sampler sampler;
  SamplingParams sampling;
  sampling.temperature = 0.0F;
  std::vector<float> logits(100, 1.0F);
  logits[41] = logits[17] = logits[99] = 3.0F;
  EXPECT_EQ(sampler.draw(logits, {&sampling, nullptr, {}, {}})->token, 17);
  sampling.temperature = 1e-9F;  // as good as zero
  EXPECT_EQ(sampler.draw(logits, {&sampling, nullptr, {}, {}})->token, 17);
  sampling.logit_bias = {{41, 0.5F}};
  EXPECT_EQ(sampler.draw(logits, {&sampling, nullptr, {}, {}})->token, 41);
}

TEST(Sampler, PenaltiesFollowTheirFormulas) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    std::vector<float> logits = random_logits(rng, 12);
    for (float& logit : logits) logit -= seed % 2 == 0 ? 0.0F : 9.0F;  // all negative
    TokenCounts counts;
    std::map<int32_t, int> output;
    std::set<int32_t> seen;
    for (int i = 0; i < 6; ++i) {
      const auto prompt = static_cast<int32_t>(rng.below(12));
      const auto generated = static_cast<int32_t>(rng.below(12));
      counts.add_prompt(prompt);
      counts.add_output(generated);
      ++output[generated];
      seen.insert({prompt, generated});
    }
    SamplingParams sampling;
    sampling.temperature = 0.0F;
    sampling.repetition_penalty = rng.uniform(0.5F, 2.0F);
    sampling.frequency_penalty = rng.uniform(-2.0F, 2.0F);
    sampling.presence_penalty = rng.uniform(-2.0F, 2.0F);
    sampling.logit_bias = {{3, rng.uniform(-5.0F, 5.0F)}};
    std::vector<double> expected;
    for (int32_t t = 0; t < 12; ++t) {
      double x = logits[static_cast<size_t>(t)] + (t == 3 ? sampling.logit_bias[0].bias : 0.0F);
      const double r = seen.contains(t) ? sampling.repetition_penalty : 1.0F;
      x = x > 0 ? x / r : x * r;
      x -= sampling.frequency_penalty * static_cast<float>(output[t]);
      expected.push_back(x - (output[t] > 0 ? sampling.presence_penalty : 0.0F));
    }
    Sampler sampler;
    const int32_t token = sampler.draw(logits, {&sampling, &counts, {}, {}})->token;
    EXPECT_NEAR(expected[static_cast<size_t>(token)], *std::max_element(expected.begin(), expected.end()), 1e-5)
        << seed;
  }
}

TEST(Sampler, LogprobsAreOfTheRawDistributionWhateverTheSampling) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const std::vector<float> logits = random_logits(rng, 3000);
    SamplingParams sampling;
    sampling.temperature = 1.9F;
    sampling.top_k = 40;
    sampling.logit_bias = {{5, 9.0F}};
    sampling.logprobs = 4;
    Sampler sampler;
    const Result<Draw> draw = sampler.draw(logits, {&sampling, nullptr, {}, {seed, 0, 0, 0}});
    const std::vector<double> p = softmax(logits, 1.0);
    const auto expected = [&](int32_t token) { return std::log(p[static_cast<size_t>(token)]); };
    const Logprobs& got = *draw->logprobs;
    EXPECT_EQ(got.chosen.token, draw->token);
    EXPECT_NEAR(got.chosen.logprob, expected(draw->token), 1e-5);
    ASSERT_EQ(got.top.size(), 4U);
    std::vector<Candidate> sorted;
    select_top_k(logits, 0.0F, 1.0F, 3000, sorted);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(got.top[i].token, sorted[i].token);
      EXPECT_NEAR(got.top[i].logprob, expected(sorted[i].token), 1e-5);
    }
    EXPECT_EQ(sorted[static_cast<size_t>(got.rank) - 1].token, draw->token);
  }
}

TEST(Sampler, AnyNonFiniteLogitIsAnError) {
  Sampler sampler;
  SamplingParams sampling;
  for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (size_t at : {0U, 15U, 16U, 35U}) {
      std::vector<float> logits(36, 0.0F);
      logits[at] = bad;
      for (float temperature : {0.0F, 1.0F}) {
        sampling.temperature = temperature;
        const Result<Draw> draw = sampler.draw(logits, {&sampling, nullptr, {}, {}});
        ASSERT_FALSE(draw.ok());
        EXPECT_EQ(draw.error().code, ErrorCode::kNumeric);
      }
    }
  }
  std::vector<float> huge(36, 3e38F);
  sampling.repetition_penalty = 0.01F;
  TokenCounts counts;
  counts.add_prompt(3);
  EXPECT_FALSE(sampler.draw(huge, {&sampling, &counts, {}, {}}).ok());
}

TEST(Sampler, BannedTokensAreNeverDrawn) {
  Sampler sampler;
  SamplingParams sampling;
  const std::vector<float> logits = {9.0F, 0.0F, 9.0F, 0.5F};
  const std::vector<int32_t> banned = {0, 2};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const int32_t token = sampler.draw(logits, {&sampling, nullptr, banned, {seed, 0, 0, 0}})->token;
    EXPECT_TRUE(token == 1 || token == 3);
  }
  const std::vector<int32_t> all = {0, 1, 2, 3};
  EXPECT_FALSE(sampler.draw(logits, {&sampling, nullptr, all, {}}).ok());
}

}  // namespace
}  // namespace brio::engine
