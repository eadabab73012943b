// Attention kernels: every ISA and every grouping of queries equals reference/attention_reference.cc bit for bit, whatever
// lies in tokens nobody may see; and the reference is close to exact arithmetic.
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/arena.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "kernels/reference/attention_reference.h"
#include "kernels/reference/row_reference.h"
#include "kernels/tables_under_test.h"

namespace brio::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// As AttentionKernels numbers them.
enum Type { kBf16, kF32, kInt8 };
constexpr Type kTypes[] = {kBf16, kF32, kInt8};
constexpr const char* kTypeNames[] = {"bf16", "f32", "int8"};

// One KV head's cache: tiles filled with NaN or other garbage, then tokens written by the kernels under test.
class Cache {
 public:
  static constexpr int kAllOnes = 0xFF;  // NaN as bf16 and as f32
  static constexpr int kRandom = -1;

  Cache(const AttentionKernels& kernels, Type type, int head_dim, int num_tokens, int fill = kAllOnes)
      : kernels_(kernels), type_(type), head_dim_(head_dim) {
    const size_t elements = static_cast<size_t>(kTileTokens) * head_dim;
    tile_bytes_ = type == kInt8 ? static_cast<size_t>(int8_tile_bytes(head_dim))
                                : (elements * (type == kBf16 ? 2 : 4) + 63) / 64 * 64;
    num_tiles_ = (num_tokens + kTileTokens - 1) / kTileTokens;
    memory_ = std::move(AlignedBuffer::create(2 * tile_bytes_ * num_tiles_)).value();
    Rng rng(99);
    for (size_t i = 0; i < memory_.size_bytes(); ++i) {
      memory_.data()[i] = static_cast<std::byte>(fill == kRandom ? rng.below(256) : static_cast<uint32_t>(fill));
    }
    k_.assign(static_cast<size_t>(num_tokens) * head_dim, kNaN);
    v_ = k_;
    k_integers_.resize(k_.size());
    v_integers_.resize(k_.size());
    k_scale_.assign(num_tokens, kNaN);
    v_scale_ = k_scale_;
  }

  void write(int token, const std::vector<float>& k, const std::vector<float>& v) {
    kernels_.store_key[type_](k.data(), head_dim_, token % kTileTokens, tile(token / kTileTokens, 0));
    kernels_.store_value[type_](v.data(), head_dim_, token % kTileTokens, tile(token / kTileTokens, 1));
    keep(token, k, k_, k_integers_, k_scale_);
    keep(token, v, v_, v_integers_, v_scale_);
  }

  AttentionSplit split(int index) const {
    AttentionSplit split;
    for (int i = 0; i < kSplitTiles && index * kSplitTiles + i < num_tiles_; ++i) {
      split.k[i] = tile(index * kSplitTiles + i, 0);
      split.v[i] = tile(index * kSplitTiles + i, 1);
    }
    return split;
  }

  // By the specification.
  std::vector<float> attention(const float* q, int begin, int end, float scale, float softcap) const {
    if (type_ != kInt8) return reference::attention(q, keys(), begin, end, scale, softcap);
    const reference::Int8AttentionKeys keys = {head_dim_, k_integers_, v_integers_, k_scale_, v_scale_};
    return reference::attention(q, keys, begin, end, scale, softcap);
  }
  // What is stored, as numbers.
  reference::AttentionKeys keys() const { return {type_ == kBf16, head_dim_, k_, v_}; }
  int head_dim() const { return head_dim_; }
  Type type() const { return type_; }

 private:
  std::byte* tile(int index, int which) const { return memory_.data() + (2 * index + which) * tile_bytes_; }

  void keep(int token, const std::vector<float>& x, std::vector<float>& values, std::vector<int>& integers,
            std::vector<float>& scales) const {
    const reference::Quantised quantised = reference::quantise(x, kLargestInteger);
    scales[token] = quantised.scale;
    for (int d = 0; d < head_dim_; ++d) {
      const size_t at = static_cast<size_t>(token) * head_dim_ + d;
      integers[at] = quantised.integers[d];
      values[at] = type_ == kInt8   ? static_cast<float>(integers[at]) * scales[token]
                   : type_ == kBf16 ? reference::round_bf16(x[d])
                                    : x[d];
    }
  }

  const AttentionKernels& kernels_;
  Type type_;
  int head_dim_;
  size_t tile_bytes_ = 0;
  int num_tiles_ = 0;
  AlignedBuffer memory_;
  std::vector<float> k_, v_;  // [tokens][head_dim]
  std::vector<int> k_integers_, v_integers_;
  std::vector<float> k_scale_, v_scale_;  // [tokens]
};

struct Query {
  std::vector<float> q;
  int begin = 0;
  int end = 0;
};

std::vector<float> random_vector(Rng& rng, int n, float size) {
  std::vector<float> x(n);
  for (float& v : x) v = rng.uniform(-size, size);
  return x;
}

// Attends all queries, `group` at a time, split after split.
std::vector<std::vector<float>> run(const AttentionKernels& kernels, const Cache& cache,
                                    const std::vector<Query>& queries, int group, AttentionParameters parameters) {
  std::vector<std::vector<float>> outs(queries.size(),
                                       std::vector<float>(cache.head_dim(), kNaN));  // states start unread
  std::vector<AttentionState> states(queries.size());
  int last = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    states[i].out = outs[i].data();
    last = std::max(last, queries[i].end);
  }
  for (int split = 0; split * kSplitTokens < last; ++split) {
    AttentionQueries batch;
    const auto flush = [&] {
      if (batch.count > 0) kernels.attend[cache.type()](batch, cache.split(split), parameters);
      batch.count = 0;
    };
    for (size_t i = 0; i < queries.size(); ++i) {
      const int begin = std::max(queries[i].begin - split * kSplitTokens, 0);
      const int end = std::min(queries[i].end - split * kSplitTokens, kSplitTokens);
      if (begin >= end) continue;
      const int at = batch.count++;
      batch.q[at] = queries[i].q.data();
      batch.begin[at] = begin;
      batch.end[at] = end;
      batch.state[at] = &states[i];
      if (batch.count == group) flush();
    }
    flush();
  }
  for (size_t i = 0; i < queries.size(); ++i) kernels.finish(states[i], cache.head_dim(), outs[i].data());
  return outs;
}

::testing::AssertionResult same(const std::vector<float>& got, const std::vector<float>& want) {
  for (size_t d = 0; d < want.size(); ++d) {
    if (std::memcmp(&got[d], &want[d], sizeof(float)) != 0 && !(std::isnan(got[d]) && std::isnan(want[d]))) {
      return ::testing::AssertionFailure() << "channel " << d << ": " << got[d] << " instead of " << want[d];
    }
  }
  return ::testing::AssertionSuccess();
}

class Attention : public ::testing::Test {
 protected:
  void SetUp() override { set_float_mode(); }
};

// Causal queries (each sees the token before it and all earlier ones, or the last few in a window) at positions whose tails
// take every length modulo 32 between them; groups of 1 to 6; NaN in every token not written yet.
TEST_F(Attention, EveryIsaAndGroupingEqualsTheReference) {
  struct Case {
    int head_dim, num_tokens, window;
    float softcap;
  };
  const Case cases[] = {{64, 71, 0, 0},    {64, 601, 0, 0},  {80, 301, 5, 0},
                        {128, 291, 0, 30}, {256, 41, 33, 0}, {18, 281, 0, 0}};
  for (const TableUnderTest& table : tables_under_test()) {
    for (const Case& c : cases) {
      for (Type type : kTypes) {
        Rng rng(static_cast<uint64_t>(c.head_dim + c.num_tokens));
        Cache cache(*table.attention, type, c.head_dim, c.num_tokens + 40);
        for (int t = 0; t < c.num_tokens; ++t)
          cache.write(t, random_vector(rng, c.head_dim, 2), random_vector(rng, c.head_dim, 2));
        std::vector<Query> queries;
        for (int end = std::max(1, c.num_tokens - 36); end <= c.num_tokens; ++end) {
          queries.push_back({random_vector(rng, c.head_dim, 2), c.window > 0 ? std::max(0, end - c.window) : 0, end});
        }
        const AttentionParameters parameters = {c.head_dim, 0.17F, c.softcap, false};
        std::vector<std::vector<float>> want;
        for (const Query& query : queries) {
          want.push_back(cache.attention(query.q.data(), query.begin, query.end, parameters.scale, c.softcap));
        }
        for (int group : {1, 2, 3, 4, 5, 6}) {
          const auto got = run(*table.attention, cache, queries, group, parameters);
          for (size_t i = 0; i < queries.size(); ++i) {
            ASSERT_TRUE(same(got[i], want[i]))
                << table.name << " head_dim " << c.head_dim << " " << kTypeNames[type] << " group " << group << " keys "
                << queries[i].begin << ".." << queries[i].end;
          }
        }
      }
    }
  }
}

TEST_F(Attention, ReferenceIsCloseToExactArithmetic) {
  for (Type type : kTypes) {
    for (int head_dim : {64, 128}) {
      Rng rng(7);
      const AttentionKernels& kernels = attention_kernels(Isa::kScalar);
      Cache cache(kernels, type, head_dim, 700);
      for (int t = 0; t < 700; ++t) cache.write(t, random_vector(rng, head_dim, 2), random_vector(rng, head_dim, 2));
      for (int end : {1, 2, 31, 32, 33, 255, 256, 257, 700}) {
        const std::vector<float> q = random_vector(rng, head_dim, 3);
        const float scale = 0.125F;
        const reference::AttentionKeys keys = cache.keys();
        double largest = 0.0;  // of scale sum |q k|
        double most_k = 0.0;   // of scale sum |k| max |q|
        for (int t = 0; t < end; ++t) {
          double s = 0.0;
          double k = 0.0;
          for (int d = 0; d < head_dim; ++d) {
            s += std::fabs(double{q[d]} * keys.k[static_cast<size_t>(t) * head_dim + d]);
            k += std::fabs(double{keys.k[static_cast<size_t>(t) * head_dim + d]}) * 3.0;
          }
          largest = std::max(largest, s * scale);
          most_k = std::max(most_k, k * scale);
        }
        // Scores err by q's rounding (bf16: relative; int8: half a unit of the largest) and one rounding a term; exp
        // turns 2x that (score and max) into a relative error of p; p is rounded (int8: half a unit of the largest, each
        // of up to 256); sums of up to 256 + merges; |v| <= 2.
        const double unit = type == kBf16 ? 0x1p-9 : 0.0;
        const double q_unit = type == kInt8 ? 0.5 / 32512 : 0.0;
        const double p_error = type == kInt8 ? 256 * 0.5 / 32512 : unit;
        const double score_error = largest * (unit + (head_dim + 4) * 0x1p-24) + most_k * q_unit;
        const double bound = 2.0 * (std::expm1(2 * score_error) + p_error + 600 * 0x1p-24);
        const std::vector<float> got = cache.attention(q.data(), 0, end, scale, 0.0F);
        const std::vector<double> want = reference::exact_attention(q.data(), keys, 0, end, scale, 0.0F);
        for (int d = 0; d < head_dim; ++d) ASSERT_NEAR(got[d], want[d], bound) << kTypeNames[type] << ' ' << end;
      }
    }
  }
}

// An int8 key or value is within half a unit of what was stored.
TEST_F(Attention, Int8ErrsByHalfAUnit) {
  Rng rng(23);
  Cache cache(attention_kernels(Isa::kScalar), kInt8, 80, 32);
  for (int t = 0; t < 32; ++t) {
    const std::vector<float> k = random_vector(rng, 80, 1.0F + t);
    const std::vector<float> v = random_vector(rng, 80, 1.0F / (1.0F + t));
    cache.write(t, k, v);
    for (int d = 0; d < 80; ++d) {
      EXPECT_NEAR(cache.keys().k[t * 80 + d], k[d], (1.0F + t) * 0.501F / kLargestInteger);
      EXPECT_NEAR(cache.keys().v[t * 80 + d], v[d], 1.0F / (1.0F + t) * 0.501F / kLargestInteger);
    }
  }
}

// Extreme operands: the largest integers of q, of weights, of k and of v, all of one sign, over the longest heads and a
// whole split; sums reach 31 bits and wrap on the way.
TEST_F(Attention, Int8SumsReachTheirLimits) {
  for (const TableUnderTest& table : tables_under_test()) {
    for (float sign : {1.0F, -1.0F}) {
      Cache cache(*table.attention, kInt8, kMaxHeadDim, kSplitTokens);
      const std::vector<float> ones(kMaxHeadDim, 1.0F);
      const std::vector<float> signs(kMaxHeadDim, sign);
      for (int t = 0; t < kSplitTokens; ++t) cache.write(t, signs, signs);
      std::vector<Query> queries(6, {ones, 0, kSplitTokens});
      const auto got = run(*table.attention, cache, queries, 6, {kMaxHeadDim, 1.0F, 0.0F, false});
      for (const auto& out : got) {
        ASSERT_TRUE(same(out, cache.attention(ones.data(), 0, kSplitTokens, 1.0F, 0.0F))) << table.name << sign;
        EXPECT_NEAR(out[0], sign, 1e-5F);
      }
    }
  }
}

// Whatever bytes lie in tokens that nobody may see, the bits are the same.
TEST_F(Attention, UnseenBytesDoNotMatter) {
  for (const TableUnderTest& table : tables_under_test()) {
    for (Type type : kTypes) {
      std::vector<std::vector<float>> want;
      for (int fill : {Cache::kAllOnes, 0x00, 0x7F, 0x80, Cache::kRandom}) {
        Rng rng(31);
        Cache cache(*table.attention, type, 80, 330, fill);
        for (int t = 21; t < 301; ++t) cache.write(t, random_vector(rng, 80, 2), random_vector(rng, 80, 2));
        std::vector<Query> queries;
        for (int end : {255, 262, 270, 279, 300, 301})
          queries.push_back({random_vector(rng, 80, 2), 21 + end % 5, end});
        const auto got = run(*table.attention, cache, queries, 4, {80, 0.17F, 0.0F, false});
        if (want.empty()) want = got;
        for (size_t i = 0; i < got.size(); ++i) {
          ASSERT_TRUE(same(got[i], want[i])) << table.name << ' ' << kTypeNames[type] << " fill " << fill;
        }
      }
    }
  }
}

// A later token whose value is infinite reaches the queries that see it and no other, in whatever company they run.
TEST_F(Attention, ValuesThatAreNotFiniteStayWithWhoSeesThem) {
  for (const TableUnderTest& table : tables_under_test()) {
    for (Type type : kTypes) {
      Rng rng(11);
      Cache cache(*table.attention, type, 64, 64);
      for (int t = 0; t < 40; ++t) {
        std::vector<float> v = random_vector(rng, 64, 1);
        if (t == 35) v[3] = std::numeric_limits<float>::infinity();
        cache.write(t, random_vector(rng, 64, 1), v);
      }
      std::vector<Query> queries;
      for (int end : {34, 35, 36, 38}) queries.push_back({random_vector(rng, 64, 1), 0, end});
      queries.push_back({random_vector(rng, 64, 1), 36, 40});
      const auto got = run(*table.attention, cache, queries, 5, {64, 0.125F, 0.0F, false});
      for (size_t i = 0; i < queries.size(); ++i) {
        const Query& query = queries[i];
        ASSERT_TRUE(same(got[i], cache.attention(query.q.data(), query.begin, query.end, 0.125F, 0.0F)))
            << table.name << ' ' << kTypeNames[type] << ' ' << i;
        EXPECT_EQ(std::isfinite(got[i][3]), i == 0 || i == 1 || i == 4);
      }
    }
  }
}

// Splits attended apart and merged equal splits attended in a row.
TEST_F(Attention, MergeOfSplitsEqualsAttendingThemInOrder) {
  for (int i = 0; i < static_cast<int>(tables_under_test().size()) * kNumKvTypes; ++i) {
    const TableUnderTest table = tables_under_test()[i / kNumKvTypes];
    const Type type = kTypes[i % kNumKvTypes];
    Rng rng(13);
    const int head_dim = 80;
    Cache cache(*table.attention, type, head_dim, 1100);
    for (int t = 0; t < 1100; ++t) cache.write(t, random_vector(rng, head_dim, 3), random_vector(rng, head_dim, 2));
    const Query query = {random_vector(rng, head_dim, 3), 100, 1090};
    const AttentionParameters parameters = {head_dim, 0.3F, 0.0F, true};
    const std::vector<float> want = run(*table.attention, cache, {query}, 1, parameters)[0];
    std::vector<float> out(head_dim, kNaN);
    AttentionState state = {0, 0, out.data()};
    for (int s = 0; s < 5; ++s) {
      std::vector<float> part_out(head_dim, kNaN);
      AttentionState part = {0, 0, part_out.data()};
      AttentionQueries one = {
          1, {query.q.data()}, {std::max(0, 100 - s * 256)}, {std::min(256, 1090 - s * 256)}, {&part}};
      table.attention->attend[type](one, cache.split(s), parameters);
      table.attention->merge(state, part, head_dim);
    }
    table.attention->finish(state, head_dim, out.data());
    EXPECT_TRUE(same(out, want)) << table.name << ' ' << kTypeNames[type];
  }
}

// Products that are flushed to -0 would make the sign of a zero depend on which masked tokens were also met.
TEST_F(Attention, NoNegativeZeroSurvives) {
  for (int i = 0; i < static_cast<int>(tables_under_test().size()) * kNumKvTypes; ++i) {
    const TableUnderTest table = tables_under_test()[i / kNumKvTypes];
    Rng rng(19);
    Cache cache(*table.attention, kTypes[i % kNumKvTypes], 64, 64);
    cache.write(0, std::vector<float>(64, 2.0F), std::vector<float>(64, 0.0F));  // the best key for every query below
    for (int t = 1; t < 40; ++t) {
      cache.write(t, random_vector(rng, 64, 1), std::vector<float>(64, -std::numeric_limits<float>::min()));
    }
    std::vector<Query> queries;
    for (int end : {2, 7, 33, 40}) queries.push_back({std::vector<float>(64, 0.01F * end), 0, end});
    for (int group : {1, 4}) {
      for (const auto& out : run(*table.attention, cache, queries, group, {64, 0.125F, 0.0F, false})) {
        for (float x : out) ASSERT_TRUE(x == 0.0F && !std::signbit(x)) << table.name << ' ' << group;
      }
    }
  }
}

// NaN queries give NaN, and do not touch their neighbours.
TEST_F(Attention, NaNQueriesStayAlone) {
  for (int i = 0; i < static_cast<int>(tables_under_test().size()) * kNumKvTypes; ++i) {
    const TableUnderTest table = tables_under_test()[i / kNumKvTypes];
    Rng rng(17);
    Cache cache(*table.attention, kTypes[i % kNumKvTypes], 64, 64);
    for (int t = 0; t < 40; ++t) cache.write(t, random_vector(rng, 64, 1), random_vector(rng, 64, 1));
    std::vector<Query> queries(3, Query{random_vector(rng, 64, 1), 0, 40});
    const auto want = run(*table.attention, cache, queries, 1, {64, 0.125F, 0.0F, false});
    queries[1].q[5] = kNaN;
    const auto got = run(*table.attention, cache, queries, 3, {64, 0.125F, 0.0F, false});
    EXPECT_TRUE(same(got[0], want[0])) << table.name;
    EXPECT_TRUE(same(got[2], want[2])) << table.name;
    for (float x : got[1]) EXPECT_TRUE(std::isnan(x)) << table.name;
  }
}

}  // namespace
}  // namespace brio::kernels
