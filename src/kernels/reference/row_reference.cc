#include "kernels/reference/row_reference.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>

namespace brio::kernels::reference {
namespace {

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

float inverse_rms(const float* x, int n, float epsilon) {
  float lanes[16] = {};
  for (int i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
  return 1.0F / std::sqrt(sum_lanes(lanes) / static_cast<float>(n) + epsilon);
}

}  // namespace

float exp(float x) {
  if (std::isnan(x)) return x;
  if (x < -86.5F) return 0.0F;
  if (x > 0x1.62e42ep+6F) return std::numeric_limits<float>::infinity();
  const float shifted = std::fma(x, 0x1.715476p+0F, 0x1.8p23F);
  const float n = shifted - 0x1.8p23F;
  float r = std::fma(n, -0x1.62e430p-1F, x);
  r = std::fma(n, 0x1.05c610p-29F, r);
  float q = 0x1.6a2352p-10F;
  for (float c : {0x1.123a6cp-7F, 0x1.5558f4p-5F, 0x1.555490p-3F, 0x1.fffffcp-2F}) q = std::fma(q, r, c);
  const float e = 1.0F + std::fma(r * r, q, r);
  return float_of(bits_of(e) + (static_cast<uint32_t>(static_cast<int32_t>(n)) << 23));
}

float tanh(float x) {
  const float a = std::fabs(x);
  if (a < 0.625F) {
    const float z = x * x;
    float p = -0x1.76ac1ap-8F;
    for (float c : {0x1.5256d8p-6F, -0x1.b84448p-5F, 0x1.110768p-3F, -0x1.555534p-2F}) p = std::fma(p, z, c);
    return std::copysign(std::fma(a * z, p, a), x);
  }
  return std::copysign(1.0F - 2.0F / (exp(a + a) + 1.0F), x);
}

float silu(float x) {
  const float finite = -std::numeric_limits<float>::max() > x ? -std::numeric_limits<float>::max() : x;
  return finite / (1.0F + exp(-finite));
}

float gelu_tanh(float x) {
  const float finite = -std::numeric_limits<float>::max() > x ? -std::numeric_limits<float>::max() : x;
  const float bracket = std::fma(0.044715F * finite, finite, 1.0F);
  return finite / (1.0F + exp(-1.5957691216057308F * finite * bracket));
}

float round_bf16(float x) {
  const uint32_t bits = bits_of(x);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return float_of((bits | 0x00400000U) & 0xffff0000U);
  if (magnitude < 0x00800000U) return float_of(bits & 0x80000000U);
  return float_of((bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U);
}

float sum_lanes(const float (&lanes)[16]) {
  float work[16];
  std::memcpy(work, lanes, sizeof(work));
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) work[i] += work[i + half];
  }
  return work[0];
}

void rms_norm(const float* x, const float* weight, int n, float epsilon, float* out) {
  const float r = inverse_rms(x, n, epsilon);
  for (int i = 0; i < n; ++i) out[i] = x[i] * r * weight[i];
}

void rms_norm_add(const float* x, const float* weight, int n, float epsilon, float* y) {
  const float r = inverse_rms(x, n, epsilon);
  for (int i = 0; i < n; ++i) y[i] = std::fma(x[i] * r, weight[i], y[i]);
}

void rotate_halves(float* x, const float* cos, const float* sin, int num_pairs) {
  for (int i = 0; i < num_pairs; ++i) {
    const float a = x[i];
    const float b = x[i + num_pairs];
    x[i] = std::fma(a, cos[i], -(b * sin[i]));
    x[i + num_pairs] = std::fma(b, cos[i], a * sin[i]);
  }
}

void rotate_interleaved(float* x, const float* cos, const float* sin, int num_pairs) {
  for (int i = 0; i < num_pairs; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = std::fma(a, cos[i], -(b * sin[i]));
    x[2 * i + 1] = std::fma(b, cos[i], a * sin[i]);
  }
}

}  // namespace brio::kernels::reference
