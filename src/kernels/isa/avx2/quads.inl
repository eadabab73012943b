// Quads as two ymm registers: kernels/quads.h says what each operation promises.

using Factors = uint64_t;
struct Ints {
  __m256i lo, hi;
};
struct QuadSum {
  __m256i half[2];  // lanes 0-7, 8-15
};

// 6 rows of one vector: the 6 accumulators of a half, its codes widened (2), a broadcast and a product in 16 registers.
template <int M>
inline constexpr int kQuadVectors = 1;

BRIO_LANE_INLINE Ints add(Ints a, Ints b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
BRIO_LANE_INLINE int32_t sum(Ints a) {
  alignas(32) int32_t lane[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lane), _mm256_add_epi32(a.lo, a.hi));
  int32_t total = 0;
  for (int i = 0; i < 8; ++i) total += lane[i];
  return total;
}
BRIO_LANE_INLINE Ints no_ints() {
  return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
// Two quads of s32 as s16 (f0 f2)(f1 f3) each.
BRIO_LANE_INLINE __m128i pack_factors(__m256i v) {
  const __m256i order = _mm256_setr_epi8(0, 1, 8, 9, 4, 5, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                         0, 1, 8, 9, 4, 5, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, order), 0x08));
}
BRIO_LANE_INLINE Ints store_factors(Factors* out, F32x16 v) {
  const Ints all = {_mm256_cvtps_epi32(v.lo), _mm256_cvtps_epi32(v.hi)};
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), pack_factors(all.lo));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2), pack_factors(all.hi));
  return all;
}
BRIO_LANE_INLINE void store_ints(int32_t* p, F32x16 v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_cvtps_epi32(v.lo));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), _mm256_cvtps_epi32(v.hi));
}

BRIO_LANE_INLINE QuadSum no_quads() {
  return {{_mm256_setzero_si256(), _mm256_setzero_si256()}};
}
BRIO_LANE_INLINE F32x16 to_f32(QuadSum q, int32_t start) {
  const __m256i first = _mm256_set1_epi32(start);
  return {_mm256_cvtepi32_ps(_mm256_add_epi32(q.half[0], first)),
          _mm256_cvtepi32_ps(_mm256_add_epi32(q.half[1], first))};
}
BRIO_LANE_INLINE __m256i broadcast_half(const Factors* factors, int half) {
  int32_t bytes;
  std::memcpy(&bytes, reinterpret_cast<const char*>(factors) + 4 * half, sizeof(bytes));
  return _mm256_set1_epi32(bytes);
}

// The sums of one half of the lanes after the other: both at once would not fit in the registers.
template <int M, int N, int Stride, bool kPrefetch>
BRIO_LANE_INLINE void multiply_quads(const Factors* factors, const uint32_t* words, ptrdiff_t stride, int count,
                                     int lanes, const std::byte* ahead, QuadSum (&acc)[M][N]) {
  static_assert(N == 1);
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    __m256i sums[M];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) sums[m] = acc[m][0].half[half];
    const uint32_t* row = words + 8 * half;
    for (int j = 0; j < count; ++j) {
      if (kPrefetch && half == 0) prefetch(ahead + 64 * j);
      __m256i line;
      if (lanes == 16) {
        line = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
      } else {
        const U32x16 mask = first_lanes(lanes);
        line = _mm256_maskload_epi32(reinterpret_cast<const int*>(row), half == 0 ? mask.lo : mask.hi);
      }
      row += stride;
      const __m256i even = _mm256_and_si256(line, _mm256_set1_epi16(0xFF));
      const __m256i odd = _mm256_srli_epi16(line, 8);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) {
        const __m256i evens = _mm256_madd_epi16(even, broadcast_half(factors + m * Stride + j, 0));
        sums[m] = _mm256_add_epi32(sums[m], evens);
        const __m256i odds = _mm256_madd_epi16(odd, broadcast_half(factors + m * Stride + j, 1));
        sums[m] = _mm256_add_epi32(sums[m], odds);
      }
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) acc[m][0].half[half] = sums[m];
  }
}
