// Holds no test of its own: compiles AVX-512's bodies against SIMDe, so that row_test and attention_test cover them on
// machines without it.
#include "kernels/emulated_avx512.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/cpu.h"
#include "kernels/tables_under_test.h"
#define BRIO_LANE_INLINE inline __attribute__((noinline))
#include "kernels/quads.h"
#include "kernels/vector.h"

namespace brio::kernels {

#ifdef BRIO_HAS_SIMDE
namespace emulated {

// What SIMDe 0.7.4 (Debian 12) has not. Its aliases are macros, so a later one that has them is left alone; but not its
// masked loads and stores: those of 0.8.2 (Debian 13) touch the lanes that are masked out.
#ifndef __mmask16
using __mmask16 = simde__mmask16;
#endif
#undef _mm512_maskz_loadu_ps
inline simde__m512 _mm512_maskz_loadu_ps(simde__mmask16 mask, const void* p) {
  float lanes[16] = {};
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) lanes[i] = static_cast<const float*>(p)[i];
  }
  return simde_mm512_loadu_ps(lanes);
}
#undef _mm512_maskz_loadu_epi32
inline simde__m512i _mm512_maskz_loadu_epi32(simde__mmask16 mask, const void* p) {
  return simde_mm512_castps_si512(_mm512_maskz_loadu_ps(mask, p));
}
#undef _mm512_mask_storeu_ps
inline void _mm512_mask_storeu_ps(void* p, simde__mmask16 mask, simde__m512 v) {
  float lanes[16];
  simde_mm512_storeu_ps(lanes, v);
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) static_cast<float*>(p)[i] = lanes[i];
  }
}
#ifndef _mm512_cvtepi32_ps
inline simde__m512 _mm512_cvtepi32_ps(simde__m512i v) {
  int32_t words[16];
  float lanes[16];
  simde_mm512_storeu_si512(words, v);
  for (int i = 0; i < 16; ++i) lanes[i] = static_cast<float>(words[i]);
  return simde_mm512_loadu_ps(lanes);
}
#endif
#ifndef _mm512_cvtps_epi32
inline simde__m512i _mm512_cvtps_epi32(simde__m512 v) {
  int32_t words[16];
  float lanes[16];
  simde_mm512_storeu_ps(lanes, v);
  for (int i = 0; i < 16; ++i) words[i] = static_cast<int32_t>(std::nearbyint(lanes[i]));
  return simde_mm512_loadu_si512(words);
}
#endif
#ifndef _mm512_cvtepi32_epi8
inline simde__m128i _mm512_cvtepi32_epi8(simde__m512i v) {
  int32_t words[16];
  int8_t bytes[16];
  simde_mm512_storeu_si512(words, v);
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<int8_t>(words[i]);
  return simde_mm_loadu_si128(bytes);
}
#endif

// SIMDe multiplies and adds with two roundings.
#undef _mm512_fmadd_ps
inline simde__m512 _mm512_fmadd_ps(simde__m512 a, simde__m512 b, simde__m512 c) {
  float x[16];
  float y[16];
  float z[16];
  simde_mm512_storeu_ps(x, a);
  simde_mm512_storeu_ps(y, b);
  simde_mm512_storeu_ps(z, c);
  for (int i = 0; i < 16; ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return simde_mm512_loadu_ps(z);
}

// clang-format off
#include "kernels/isa/avx512/vector.inl"
#include "kernels/generic/math.inl"
#include "kernels/generic/row.inl"
#include "kernels/generic/attention_tile.inl"
#include "kernels/generic/attention.inl"
#include "kernels/isa/avx512/quads.inl"
#include "kernels/generic/attention_int8.inl"
#include "kernels/generic/attention_table.inl"
// clang-format on
}  // namespace emulated
#endif

std::vector<TableUnderTest> tables_under_test() {
  std::vector<TableUnderTest> tables;
  for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (cpu_supports(isa)) tables.push_back({std::string(name(isa)), &row_kernels(isa), &attention_kernels(isa)});
  }
#ifdef BRIO_HAS_SIMDE
  if (!cpu_supports(Isa::kAvx512)) {
    tables.push_back({"avx512 emulated", &emulated::kRowKernels, &emulated::kAttentionKernels});
  }
#endif
  return tables;
}

}  // namespace brio::kernels
