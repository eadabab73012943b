#include "kernels/math.h"

#include <cstdint>
#include <cstring>
#include <limits>

namespace brio::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
constexpr double kLn2High = 0x1.62e42fef00000p-1;  // 33 bits: n kLn2High is exact for |n| < 2^20
constexpr double kLn2Low = 0x1.473de6af278edp-34;
constexpr double kRoundMagic = 0x1.8p52;  // adding and subtracting it rounds to an integer (|x| < 2^51)

uint64_t bits_of(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

double float_of(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// `volatile` keeps a compiler from simplifying (x + magic) - magic; none may without fast-math, and it costs nothing here.
double round_to_integer(double x) {
  volatile double shifted = x + kRoundMagic;
  return shifted - kRoundMagic;
}

// 2^n for -1022 <= n <= 1023.
double power_of_two(int n) {
  return float_of(static_cast<uint64_t>(n + 1023) << 52);
}

// sum of x^i c[i], Horner, from the last.
template <int N>
double polynomial(double x, const double (&c)[N]) {
  double sum = c[N - 1];
  for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

// sin and cos of the reduced argument |r| <= pi/4: Taylor series; the first term left out is below 2^-56.
double sin_reduced(double r) {
  static constexpr double kSeries[] = {-1.0 / 6,
                                       1.0 / 120,
                                       -1.0 / 5040,
                                       1.0 / 362880,
                                       -1.0 / 39916800,
                                       1.0 / 6227020800.0,
                                       -1.0 / 1307674368000.0,
                                       1.0 / 355687428096000.0};
  const double z = r * r;
  return r + r * z * polynomial(z, kSeries);
}

double cos_reduced(double r) {
  static constexpr double kSeries[] = {1.0 / 24,        -1.0 / 720,           1.0 / 40320,           -1.0 / 3628800,
                                       1.0 / 479001600, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};
  const double z = r * r;
  const double half = 0.5 * z;
  return (1.0 - half) + z * z * polynomial(z, kSeries);
}

struct Reduced {
  double r;      // x - quadrant pi/2
  int quadrant;  // mod 4
};

// pi/2 in three parts of 30 bits and a rest: n has at most 23 bits, so n times each of the first three is exact.
Reduced reduce(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kParts[] = {0x1.921fb54000000p+0, 0x1.10b4611800000p-30, 0x1.313198a000000p-61,
                               0x1.701b839a25205p-92};
  const double n = round_to_integer(x * kTwoOverPi);
  double r = x;
  for (double part : kParts) r -= n * part;
  return {r, static_cast<int>(static_cast<int64_t>(n) & 3)};
}

constexpr double kLargestAngle = 1e7;

double sin_of_quadrant(const Reduced& a) {
  switch (a.quadrant & 3) {
    case 0:
      return sin_reduced(a.r);
    case 1:
      return cos_reduced(a.r);
    case 2:
      return -sin_reduced(a.r);
    default:
      return -cos_reduced(a.r);
  }
}

}  // namespace

// x = n ln 2 + r, |r| <= 0.347; Taylor to r^13 (next term below 2^-57); 2^n in two factors so that neither overflows.
double exp(double x) {
  static constexpr double kSeries[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                       1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                       1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  if (x != x) return x;
  if (x > 709.782712893384) return kInfinity;
  if (x < -708.3964185322641) return 0.0;
  const double n = round_to_integer(x * kInverseLn2);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  const double e = 1.0 + (r + r * r * polynomial(r, kSeries));
  const int whole = static_cast<int>(n);
  const int half = whole / 2;
  return e * power_of_two(half) * power_of_two(whole - half);
}

// x = 2^n m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716; series to s^23.
double log(double x) {
  static constexpr double kSeries[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                       2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  if (x != x || x == kInfinity) return x;
  if (x < 0.0) return kNaN;
  if (x < std::numeric_limits<double>::min()) return -kInfinity;
  uint64_t bits = bits_of(x);
  int n = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffU) | 0x3ff0000000000000U;
  double m = float_of(bits);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++n;
  }
  const double f = m - 1.0;
  const double s = f / (m + 1.0);
  const double z = s * s;
  // log m = 2s + s z p(z) = f - s (f - z p(z)), since 2s = f - s f: f is exact, the correction small.
  return n * kLn2High + (f - (s * (f - z * polynomial(z, kSeries)) - n * kLn2Low));
}

double pow(double x, double y) {
  if (!(x > 0.0)) return kNaN;
  return exp(y * log(x));
}

// Below 0.25 the continued fraction x / (1 + z / (3 + z / (5 + ...))), z = x^2, which 8 levels bring below 2^-60.
double tanh(double x) {
  if (x != x) return x;
  const double a = x < 0.0 ? -x : x;
  if (a < 0.25) {
    const double z = x * x;
    double tail = 15.0;
    for (double level = 13.0; level > 0.0; level -= 2.0) tail = level + z / tail;
    return x / tail;
  }
  const double t = a > 20.0 ? 1.0 : 1.0 - 2.0 / (exp(2.0 * a) + 1.0);
  return x < 0.0 ? -t : t;
}

double sin(double x) {
  if (!(x >= -kLargestAngle && x <= kLargestAngle)) return kNaN;
  return sin_of_quadrant(reduce(x));
}

double cos(double x) {
  if (!(x >= -kLargestAngle && x <= kLargestAngle)) return kNaN;
  Reduced a = reduce(x);
  ++a.quadrant;
  return sin_of_quadrant(a);
}

}  // namespace brio::kernels
