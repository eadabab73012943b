// Quads as one zmm register: kernels/quads.h says what each operation promises.

using Factors = uint64_t;
struct Ints {
  __m512i v;
};
struct QuadSum {
  __m512i high, low;
};

// 6 rows: 12 high and 12 low accumulators, 2 lines and a broadcast in 32 registers. vpdpbusd has latency 5 and a throughput
// of up to 2 a cycle: one row alone gets 4 chains, which outruns memory.
template <int M>
inline constexpr int kQuadVectors = 2;

BRIO_LANE_INLINE Ints add(Ints a, Ints b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
BRIO_LANE_INLINE int32_t sum(Ints a) {
  alignas(64) int32_t lane[16];
  _mm512_store_si512(lane, a.v);
  int32_t total = 0;
  for (int i = 0; i < 16; ++i) total += lane[i];
  return total;
}
BRIO_LANE_INLINE Ints no_ints() {
  return {_mm512_setzero_si512()};
}
BRIO_LANE_INLINE Ints store_factors(Factors* out, F32x16 v) {
  const __m512i all = _mm512_cvtps_epi32(v.v);
  const __m128i high = _mm512_cvtepi32_epi8(_mm512_srli_epi32(_mm512_add_epi32(all, _mm512_set1_epi32(128)), 8));
  const __m128i low = _mm512_cvtepi32_epi8(all);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_unpacklo_epi32(high, low));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2), _mm_unpackhi_epi32(high, low));
  return {all};
}
BRIO_LANE_INLINE void store_ints(int32_t* p, F32x16 v) {
  _mm512_storeu_si512(p, _mm512_cvtps_epi32(v.v));
}

BRIO_LANE_INLINE QuadSum no_quads() {
  return {_mm512_setzero_si512(), _mm512_setzero_si512()};
}
BRIO_LANE_INLINE F32x16 to_f32(QuadSum q, int32_t start) {
  const __m512i total = _mm512_add_epi32(_mm512_slli_epi32(q.high, 8), q.low);
  return {_mm512_cvtepi32_ps(_mm512_add_epi32(total, _mm512_set1_epi32(start)))};
}
BRIO_LANE_INLINE __m512i broadcast_half(const Factors* factors, int half) {
  int32_t bytes;
  std::memcpy(&bytes, reinterpret_cast<const char*>(factors) + 4 * half, sizeof(bytes));
  return _mm512_set1_epi32(bytes);
}

template <int M, int N, int Stride, bool kPrefetch>
BRIO_LANE_INLINE void multiply_quads(const Factors* factors, const uint32_t* words, ptrdiff_t stride, int count,
                                     int lanes, const std::byte* ahead, QuadSum (&acc)[M][N]) {
  __m512i high[M * N];  // g++ keeps these in registers, not 24 of acc
  __m512i low[M * N];
#pragma GCC unroll 16
  for (int i = 0; i < M * N; ++i) {
    high[i] = acc[i / N][i % N].high;
    low[i] = acc[i / N][i % N].low;
  }
  for (int j = 0; j < count; ++j) {
    U32x16 line[N];
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) {
      if constexpr (kPrefetch) prefetch(ahead + 64 * (N * j + n));
      line[n] = lanes == 16 ? load_pairs(words + 16 * n) : load_pairs_first(words + 16 * n, lanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < M * N; ++i) {
      const Factors* quad = factors + i / N * Stride + j;
      high[i] = _mm512_dpbusd_epi32(high[i], line[i % N].v, broadcast_half(quad, 0));
      low[i] = _mm512_dpbusd_epi32(low[i], line[i % N].v, broadcast_half(quad, 1));
    }
    words += stride;
  }
#pragma GCC unroll 16
  for (int i = 0; i < M * N; ++i) acc[i / N][i % N] = {high[i], low[i]};
}
