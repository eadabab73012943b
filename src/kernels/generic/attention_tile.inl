// The register tile of attention: factors (queries, or probabilities) times stored words (keys, or values). Stored
// elements come in two kinds: Bf16, a word holding two bf16 that meet two factors (odd first), and F32, a word that
// meets one.

// Floats between the rows of factors in scratch: a multiple of 16, and 64 bytes off a power of two, so that six rows do
// not meet in one L1 set.
inline constexpr int kQueryStride = kMaxHeadDim + 16;
inline constexpr int kScoreStride = kSplitTokens + 16;

struct Bf16 {
  using Word = uint32_t;
  static constexpr int kPerWord = 2;
  static BRIO_LANE_INLINE F32x16 rounded(F32x16 v) { return round_bf16(v); }
  static BRIO_LANE_INLINE F32x16 rounded_probability(F32x16 v) { return round_bf16_normal(v); }
};
struct F32 {
  using Word = float;
  static constexpr int kPerWord = 1;
  static BRIO_LANE_INLINE F32x16 rounded(F32x16 v) { return v; }
  static BRIO_LANE_INLINE F32x16 rounded_probability(F32x16 v) { return v; }
};

// The same pointer, of which the compiler forgets that it has been read.
template <class T>
BRIO_LANE_INLINE const T* reload(const T* p) {
  asm("" : "+r"(p));
  return p;
}

// acc[m][n] += factors of row m times words 16 n .. 16 n + 15 of each word row: words [count][stride], factors
// [M][Stride]. `ahead` is fetched on the way, N cache lines a word row: as many bytes as are read.
template <int M, int N, int Stride, bool kPrefetch>
BRIO_LANE_INLINE void accumulate(const float* factors, const uint32_t* words, ptrdiff_t stride, int count, int lanes,
                                 const std::byte* ahead, F32x16 (&acc)[M][N]) {
  for (int j = 0; j < count; ++j) {
    F32x16 half[N];
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) {
      if constexpr (kPrefetch) prefetch(ahead + 64 * (N * j + n));
      half[n] = odd(lanes == 16 ? load_pairs(words + 16 * n) : load_pairs_first(words + 16 * n, lanes));
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const F32x16 factor = broadcast(factors[m * Stride + 2 * j + 1]);
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) acc[m][n] = fma(factor, half[n], acc[m][n]);
    }
    // Loaded again rather than kept: 12 accumulators, 2 words, 2 halves and a broadcast are one register too many.
    words = reload(words);
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) {
      half[n] = even(lanes == 16 ? load_pairs(words + 16 * n) : load_pairs_first(words + 16 * n, lanes));
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const F32x16 factor = broadcast(factors[m * Stride + 2 * j]);
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) acc[m][n] = fma(factor, half[n], acc[m][n]);
    }
    words += stride;
  }
}

template <int M, int N, int Stride, bool kPrefetch>
BRIO_LANE_INLINE void accumulate(const float* factors, const float* words, ptrdiff_t stride, int count, int lanes,
                                 const std::byte* ahead, F32x16 (&acc)[M][N]) {
  for (int j = 0; j < count; ++j) {
    F32x16 v[N];
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) {
      if constexpr (kPrefetch) prefetch(ahead + 64 * (N * j + n));
      v[n] = lanes == 16 ? load(words + 16 * n) : load_first(words + 16 * n, lanes);
    }
    words += stride;
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const F32x16 factor = broadcast(factors[m * Stride + j]);
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) acc[m][n] = fma(factor, v[n], acc[m][n]);
    }
  }
}
