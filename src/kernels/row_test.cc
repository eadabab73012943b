// Row kernels: every ISA equals reference/row_reference.cc bit for bit, and that is close to the mathematics.
#include "kernels/row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/cpu.h"
#include "base/rng.h"
#include "kernels/reference/row_reference.h"
#include "kernels/tables_under_test.h"

namespace brio::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// Equal bits, any NaN being equal to any other.
::testing::AssertionResult same(const std::vector<float>& got, const std::vector<float>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    if (bits_of(got[i]) != bits_of(want[i])) {
      return ::testing::AssertionFailure() << "element " << i << ": " << got[i] << " instead of " << want[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// Values of all sizes, and special ones now and then.
std::vector<float> wild(Rng& rng, size_t n) {
  const float special[] = {0.0F,    -0.0F, kInfinity, -kInfinity, kNaN,   1e-40F,
                           -1e-40F, 3e38F, -3e38F,    88.7228F,   88.73F, -86.5F};
  std::vector<float> x(n);
  for (float& v : x) {
    v = rng.below(8) == 0 ? special[rng.below(12)] : rng.uniform(-4, 4) * std::exp2(rng.uniform(-20, 6));
  }
  return x;
}

std::vector<float> tame(Rng& rng, size_t n) {
  std::vector<float> x(n);
  for (float& v : x) v = rng.uniform(-2, 2);
  return x;
}

class Row : public ::testing::Test {
 protected:
  void SetUp() override { set_float_mode(); }
  // Lengths with every tail, and a few real ones.
  const std::vector<int> lengths_ = {1, 2, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 63, 64, 80, 100, 576, 896, 1000};
};

TEST_F(Row, NormsEqualTheReferenceOnEveryIsa) {
  Rng rng(1);
  for (const TableUnderTest& table : tables_under_test()) {
    for (int n : lengths_) {
      const std::vector<float> x = tame(rng, n);
      const std::vector<float> weight = tame(rng, n);
      const std::vector<float> y = tame(rng, n);
      std::vector<float> want(n);
      std::vector<float> got(n + 1, 77.0F);
      reference::rms_norm(x.data(), weight.data(), n, 1e-6F, want.data());
      table.row->rms_norm(x.data(), weight.data(), n, 1e-6F, got.data());
      ASSERT_TRUE(same(got, want)) << table.name << ' ' << n;
      ASSERT_EQ(got.back(), 77.0F) << "wrote past the end";
      want = y;
      std::copy(y.begin(), y.end(), got.begin());
      reference::rms_norm_add(x.data(), weight.data(), n, 1e-5F, want.data());
      table.row->rms_norm_add(x.data(), weight.data(), n, 1e-5F, got.data());
      ASSERT_TRUE(same(got, want)) << table.name << ' ' << n;
      ASSERT_EQ(got.back(), 77.0F) << "wrote past the end";
    }
  }
}

TEST_F(Row, NormIsCloseToDouble) {
  Rng rng(2);
  for (int n : lengths_) {
    const std::vector<float> x = tame(rng, n);
    const std::vector<float> weight = tame(rng, n);
    double squares = 0.0;
    for (float v : x) squares += double{v} * v;
    const double r = 1.0 / std::sqrt(squares / n + double{1e-6F});
    std::vector<float> got(n);
    reference::rms_norm(x.data(), weight.data(), n, 1e-6F, got.data());
    for (int i = 0; i < n; ++i) {
      const double want = x[i] * r * weight[i];
      ASSERT_LE(std::fabs(got[i] - want), std::fabs(want) * (n / 32.0 + 8) * 0x1p-24) << n;
    }
  }
}

TEST_F(Row, RotationsEqualTheReferenceAndKeepLength) {
  Rng rng(3);
  for (const TableUnderTest& table : tables_under_test()) {
    for (int pairs : {1, 3, 4, 8, 10, 16, 20, 32, 40, 64, 128}) {
      std::vector<float> cos(pairs);
      std::vector<float> sin(pairs);
      for (int i = 0; i < pairs; ++i) {
        const double angle = rng.uniform(0, 6);
        cos[i] = static_cast<float>(std::cos(angle));
        sin[i] = static_cast<float>(std::sin(angle));
      }
      const std::vector<float> x = tame(rng, 2 * pairs);
      for (bool interleaved : {false, true}) {
        std::vector<float> want = x;
        std::vector<float> got = x;
        got.push_back(77.0F);
        (interleaved ? reference::rotate_interleaved : reference::rotate_halves)(want.data(), cos.data(), sin.data(),
                                                                                 pairs);
        (interleaved ? table.row->rotate_interleaved : table.row->rotate_halves)(got.data(), cos.data(), sin.data(),
                                                                                 pairs);
        ASSERT_TRUE(same(got, want)) << table.name << ' ' << pairs << ' ' << interleaved;
        ASSERT_EQ(got.back(), 77.0F);
        for (int i = 0; i < pairs; ++i) {
          const int a = interleaved ? 2 * i : i;
          const int b = interleaved ? 2 * i + 1 : i + pairs;
          ASSERT_NEAR(got[a], double{x[a]} * cos[i] - double{x[b]} * sin[i], 1e-6);
          ASSERT_NEAR(got[b], double{x[b]} * cos[i] + double{x[a]} * sin[i], 1e-6);
        }
      }
    }
  }
}

TEST_F(Row, FunctionsEqualTheReferenceOnWildValues) {
  Rng rng(4);
  for (const TableUnderTest& table : tables_under_test()) {
    for (int n : lengths_) {
      const std::vector<float> x = wild(rng, n);
      const std::vector<float> up = wild(rng, n);
      std::vector<float> want(n);
      std::vector<float> got(n);
      const auto check = [&](const char* what) {
        ASSERT_TRUE(same(got, want)) << table.name << ' ' << what << ' ' << n;
      };
      for (int i = 0; i < n; ++i) want[i] = reference::exp(x[i]);
      table.row->exp(x.data(), n, got.data());
      check("exp");
      for (int i = 0; i < n; ++i) want[i] = reference::tanh(x[i]);
      table.row->tanh(x.data(), n, got.data());
      check("tanh");
      for (int i = 0; i < n; ++i) want[i] = reference::silu(x[i]) * up[i];
      table.row->silu_multiply(x.data(), up.data(), n, got.data());
      check("silu");
      for (int i = 0; i < n; ++i) want[i] = reference::gelu_tanh(x[i]) * up[i];
      table.row->gelu_tanh_multiply(x.data(), up.data(), n, got.data());
      check("gelu");
    }
  }
}

// Over all floats in steps: relative errors of a few units in the last place, and the limits.
TEST_F(Row, FunctionsAreCloseToDouble) {
  const auto near = [](float got, double want, double bound) {
    return std::fabs(got - want) <= std::fabs(want) * bound + std::numeric_limits<float>::min();
  };
  for (uint32_t magnitude = 0x30000000U; magnitude < 0x43000000U; magnitude += 1021) {
    for (uint32_t sign : {0U, 0x80000000U}) {
      float x;
      const uint32_t bits = magnitude | sign;
      std::memcpy(&x, &bits, sizeof(x));
      const double d = x;
      ASSERT_TRUE(d <= -86.5 || d >= 88.7 || near(reference::exp(x), std::exp(d), 0x1p-23)) << x;
      ASSERT_TRUE(near(reference::tanh(x), std::tanh(d), 0x1p-22)) << x;
      ASSERT_TRUE(d <= -80 || near(reference::silu(x), d / (1 + std::exp(-d)), 0x1p-21)) << x;
      const double u = std::sqrt(2 / M_PI) * (d + 0.044715 * d * d * d);
      // exp(-2u) amplifies the rounding of u by |2u|: a relative error of |2u| 2^-22 at most.
      const double bound = (std::fabs(2 * u) + 4) * 0x1p-22;
      ASSERT_TRUE(2 * u <= -80 || near(reference::gelu_tanh(x), d / (1 + std::exp(-2 * u)), bound)) << x;
    }
  }
  EXPECT_EQ(reference::exp(0.0F), 1.0F);
  EXPECT_EQ(reference::exp(-kInfinity), 0.0F);
  EXPECT_EQ(reference::exp(-86.6F), 0.0F);
  EXPECT_EQ(reference::exp(89.0F), kInfinity);
  EXPECT_EQ(reference::exp(kInfinity), kInfinity);
  EXPECT_EQ(reference::tanh(kInfinity), 1.0F);
  EXPECT_EQ(reference::tanh(-kInfinity), -1.0F);
  EXPECT_EQ(reference::silu(-kInfinity), 0.0F);
  EXPECT_EQ(reference::silu(kInfinity), kInfinity);
  EXPECT_EQ(reference::gelu_tanh(-kInfinity), 0.0F);
  EXPECT_EQ(reference::gelu_tanh(kInfinity), kInfinity);
  for (float (*f)(float) : {reference::exp, reference::tanh, reference::silu, reference::gelu_tanh}) {
    EXPECT_TRUE(std::isnan(f(kNaN)));
  }
}

TEST_F(Row, Bf16RoundsToNearestEvenAndFlushes) {
  EXPECT_EQ(reference::round_bf16(1.0F + 0x1p-8F), 1.0F);                // tie to even
  EXPECT_EQ(reference::round_bf16(1.0F + 3 * 0x1p-8F), 1.0F + 0x1p-6F);  // tie to even, up
  EXPECT_EQ(reference::round_bf16(1.0F + 0x1.1p-8F), 1.0F + 0x1p-7F);
  EXPECT_EQ(reference::round_bf16(3.4e38F), kInfinity);
  EXPECT_EQ(bits_of(reference::round_bf16(-1e-39F)), 0x80000000U);
  EXPECT_TRUE(std::isnan(reference::round_bf16(kNaN)));
}

}  // namespace
}  // namespace brio::kernels
