// Holds no test of its own: compiles AVX-512's linear bodies against SIMDe, so that linear_test covers them on machines
// without AVX-512 (where SIMDe is installed).
#include "kernels/emulated_avx512.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#define BRIO_LANE_INLINE inline __attribute__((noinline))  // speed is not the point, compile time is
#include "kernels/linear_test_table.h"
#include "kernels/lines.h"

namespace brio::kernels {

#ifdef BRIO_HAS_SIMDE
namespace emulated_linear {

// What SIMDe 0.7.4 (Debian 12) has not. Its aliases are macros, so a later one that has them is left alone; but not its
// masked loads and stores: those of 0.8.2 (Debian 13) touch the lanes that are masked out.
struct Lanes {
  explicit Lanes(simde__m512i v) { simde_mm512_storeu_si512(word, v); }
  Lanes() = default;
  simde__m512i vector() const { return simde_mm512_loadu_si512(word); }
  int32_t word[16] = {};
};
inline float float_of(int32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline int32_t bits_of(float value) {
  int32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

#ifndef __mmask16
using __mmask16 = simde__mmask16;
#endif
#undef _mm512_maskz_loadu_epi32
inline simde__m512i _mm512_maskz_loadu_epi32(simde__mmask16 mask, const void* p) {
  Lanes out;
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) std::memcpy(&out.word[i], static_cast<const char*>(p) + i * 4, 4);
  }
  return out.vector();
}
#undef _mm512_maskz_loadu_ps
inline simde__m512 _mm512_maskz_loadu_ps(simde__mmask16 mask, const void* p) {
  return simde_mm512_castsi512_ps(_mm512_maskz_loadu_epi32(mask, p));
}
#undef _mm512_mask_storeu_ps
inline void _mm512_mask_storeu_ps(void* p, simde__mmask16 mask, simde__m512 v) {
  const Lanes lanes(simde_mm512_castps_si512(v));
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) std::memcpy(static_cast<char*>(p) + i * 4, &lanes.word[i], 4);
  }
}
#ifndef _mm512_cvtepi32_ps
inline simde__m512 _mm512_cvtepi32_ps(simde__m512i v) {
  Lanes lanes(v);
  for (int32_t& word : lanes.word) word = bits_of(static_cast<float>(word));
  return simde_mm512_castsi512_ps(lanes.vector());
}
#endif
#ifndef _mm512_cvtps_epi32
inline simde__m512i _mm512_cvtps_epi32(simde__m512 v) {
  Lanes lanes(simde_mm512_castps_si512(v));
  for (int32_t& word : lanes.word) word = static_cast<int32_t>(std::nearbyint(float_of(word)));
  return lanes.vector();
}
#endif
#ifndef _mm512_cvtepi32_epi8
inline simde__m128i _mm512_cvtepi32_epi8(simde__m512i v) {
  const Lanes lanes(v);
  int8_t out[16];
  for (int i = 0; i < 16; ++i) out[i] = static_cast<int8_t>(lanes.word[i]);
  return simde_mm_loadu_si128(out);
}
#endif
#ifndef _mm512_cvtepi32_epi16
inline simde__m256i _mm512_cvtepi32_epi16(simde__m512i v) {
  const Lanes lanes(v);
  int16_t out[16];
  for (int i = 0; i < 16; ++i) out[i] = static_cast<int16_t>(lanes.word[i]);
  return simde_mm256_loadu_si256(out);
}
#endif
#ifndef _mm512_cvtepu8_epi32
inline simde__m512i _mm512_cvtepu8_epi32(simde__m128i v) {
  uint8_t bytes[16];
  simde_mm_storeu_si128(bytes, v);
  Lanes out;
  for (int i = 0; i < 16; ++i) out.word[i] = bytes[i];
  return out.vector();
}
#endif
#ifndef _mm512_cvtepi8_epi32
inline simde__m512i _mm512_cvtepi8_epi32(simde__m128i v) {
  int8_t bytes[16];
  simde_mm_storeu_si128(bytes, v);
  Lanes out;
  for (int i = 0; i < 16; ++i) out.word[i] = bytes[i];
  return out.vector();
}
#endif
#ifndef _mm512_cvtph_ps
inline simde__m512 _mm512_cvtph_ps(simde__m256i v) {
  uint16_t half[16];
  simde_mm256_storeu_si256(half, v);
  Lanes out;
  for (int i = 0; i < 16; ++i) out.word[i] = bits_of(f16_to_f32(half[i]));
  return simde_mm512_castsi512_ps(out.vector());
}
#endif
// SIMDe's alias asks for the four arguments of the masked form.
#undef _mm512_madd_epi16
inline simde__m512i _mm512_madd_epi16(simde__m512i a, simde__m512i b) {
  const Lanes x(a);
  const Lanes y(b);
  Lanes out;
  for (int i = 0; i < 16; ++i) {
    out.word[i] =
        static_cast<int16_t>(x.word[i]) * static_cast<int16_t>(y.word[i]) + (x.word[i] >> 16) * (y.word[i] >> 16);
  }
  return out.vector();
}
// SIMDe multiplies and adds with two roundings.
#undef _mm512_fmadd_ps
inline simde__m512 _mm512_fmadd_ps(simde__m512 a, simde__m512 b, simde__m512 c) {
  const Lanes x(simde_mm512_castps_si512(a));
  const Lanes y(simde_mm512_castps_si512(b));
  Lanes z(simde_mm512_castps_si512(c));
  for (int i = 0; i < 16; ++i) {
    z.word[i] = bits_of(std::fma(float_of(x.word[i]), float_of(y.word[i]), float_of(z.word[i])));
  }
  return simde_mm512_castsi512_ps(z.vector());
}

// clang-format off
#include "kernels/isa/avx512/vector.inl"
#include "kernels/isa/avx512/lines.inl"
#include "kernels/generic/linear_sources.inl"
#include "kernels/generic/linear_tile.inl"
#include "kernels/generic/linear_floats.inl"
#include "kernels/generic/linear_kernels.inl"
#include "kernels/generic/quantize_rows.inl"
// clang-format on

}  // namespace emulated_linear
#endif

std::vector<LinearTestTable> linear_test_tables() {
  std::vector<LinearTestTable> tables;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (cpu_supports(isa)) tables.push_back({std::string(name(isa)), &linear_kernels(isa), &quantize_kernels(isa)});
  }
#ifdef BRIO_HAS_SIMDE
  if (!cpu_supports(Isa::kAvx512)) {
    tables.push_back({"avx512_emulated", &emulated_linear::kLinearKernels, &emulated_linear::kQuantizeKernels});
  }
#endif
  return tables;
}

}  // namespace brio::kernels
