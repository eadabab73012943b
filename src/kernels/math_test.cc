// brio's double functions against the C library's long double ones; the vector ones are tested in row_test.cc.
#include "kernels/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"

namespace brio::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double random_between(Rng& rng, double low, double high) {
  const double unit = (rng.next() + rng.next() * 0x1p-32) * 0x1p-32;
  return low + (high - low) * unit;
}

double relative_error(double got, long double want) {
  return static_cast<double>(fabsl((got - want) / want));
}

TEST(Math, ExpAndLogMatchLongDouble) {
  Rng rng(1);
  for (int i = 0; i < 100000; ++i) {
    const double x = random_between(rng, -700, 700);
    ASSERT_LE(relative_error(exp(x), std::exp(static_cast<long double>(x))), 0x1p-51) << x;
    const double y = std::exp(x);
    const long double want = std::log(static_cast<long double>(y));
    ASSERT_LE(std::fabs(log(y) - static_cast<double>(want)), 0x1p-51 * std::fmax(std::fabs(x), 1e-3)) << y;
    const double near_one = random_between(rng, 0.7, 1.4);
    ASSERT_LE(relative_error(log(near_one), std::log(static_cast<long double>(near_one))), 0x1p-51) << near_one;
  }
}

TEST(Math, PowMatchesLongDoubleOnRopeBases) {
  for (double base : {10000.0, 500000.0, 1000000.0, 5.5, 1e-3}) {
    for (int i = -256; i <= 256; ++i) {
      const double y = i / 128.0;
      const long double want = std::pow(static_cast<long double>(base), static_cast<long double>(y));
      const double bound = (std::fabs(y * std::log(base)) + 2) * 0x1p-52;
      ASSERT_LE(relative_error(pow(base, y), want), bound) << base << '^' << y;
    }
  }
}

TEST(Math, SinAndCosMatchLongDoubleUpToTenMillion) {
  Rng rng(2);
  for (int i = 0; i < 200000; ++i) {
    const double limit = std::pow(10.0, random_between(rng, -3, 7));
    const double x = random_between(rng, -limit, limit);
    ASSERT_LE(fabsl(sin(x) - std::sin(static_cast<long double>(x))), 0x1p-51L) << x;
    ASSERT_LE(fabsl(cos(x) - std::cos(static_cast<long double>(x))), 0x1p-51L) << x;
  }
  for (int n = 1; n < 1000000; n += 997) {  // next to the zeros of both, where reduction loses most
    const double x = n * 1.5707963267948966;
    ASSERT_LE(fabsl(sin(x) - std::sin(static_cast<long double>(x))), 0x1p-51L) << x;
    ASSERT_LE(fabsl(cos(x) - std::cos(static_cast<long double>(x))), 0x1p-51L) << x;
  }
}

TEST(Math, TanhMatchesLongDouble) {
  Rng rng(3);
  for (int i = 0; i < 100000; ++i) {
    const double x = random_between(rng, -22, 22) * (i % 2 == 0 ? 1.0 : 0.01);
    ASSERT_LE(relative_error(tanh(x), std::tanh(static_cast<long double>(x))), 0x1p-50) << x;
  }
}

TEST(Math, SpecialValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double (*f)(double) : {exp, log, tanh, sin, cos}) EXPECT_TRUE(std::isnan(f(nan)));
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(exp(-kInfinity), 0.0);
  EXPECT_EQ(exp(0.0), 1.0);
  EXPECT_EQ(exp(710.0), kInfinity);
  EXPECT_EQ(log(0.0), -kInfinity);
  EXPECT_EQ(log(1.0), 0.0);
  EXPECT_EQ(log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log(-1.0)));
  EXPECT_TRUE(std::isnan(pow(-2.0, 2.0)));
  EXPECT_EQ(tanh(kInfinity), 1.0);
  EXPECT_EQ(tanh(-kInfinity), -1.0);
  EXPECT_EQ(sin(0.0), 0.0);
  EXPECT_EQ(cos(0.0), 1.0);
  EXPECT_TRUE(std::isnan(sin(1e9)));
  EXPECT_TRUE(std::isnan(cos(kInfinity)));
}

}  // namespace
}  // namespace brio::kernels
