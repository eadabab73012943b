// Lines of weight codes and integer sums as two ymm registers: kernels/lines.h says what each operation promises.
//
// vpmaddubsw adds two u8 x s8 products in s16. Codes of b bits give at most 2 (2^b - 1) 127 a step, so kSpan<b> steps fit
// in s16: 8 x 3810 (4 bits), 4 x 7874 (5), 2 x 16002 (6). Bytes are kept signed: |w| <= 128 is the u8 operand and its
// sign moves to x (-127 .. 127), at most 2 x 128 x 127 = 32512: one step.

struct Line {
  __m256i lo, hi;  // output rows 0-7, 8-15
};
struct Bytes16 {
  __m128i v;
};
struct Ints {
  __m256i lo, hi;
};
struct Partial {
  __m256i lo, hi;  // s16 pairs
};
struct Quad {
  __m256i v;
};
struct Levels {
  __m256i v;
};

inline constexpr int kByteBias = 0;
inline constexpr bool kWidensBytes = true;
// 4 rows: 8 s16 accumulators, 2 lines, a broadcast and a product in 16 registers.
inline constexpr int kTileRows = 4;
inline constexpr int kStreams = 1;
inline constexpr int kStretchRows = 4;
inline constexpr int kStretchPanels = 1;
inline constexpr int kReadAhead = 1024;  // bytes; Zen 3 streams weights 1.3 to 1.6 times faster with it than without
inline constexpr int kReadAheadOfStream = 1024;
inline constexpr int kL2Bytes = 512 * 1024;
inline constexpr int kPanelsAtOnce = 2;
inline constexpr int kFloatTileRows = 6;
template <int kBits>
inline constexpr int kSpan = kBits <= 4   ? 8
                             : kBits == 5 ? 4
                             : kBits == 6 ? 2
                                          : 1;

BRIO_LANE_INLINE Line load_line(const void* p) {
  const auto* line = static_cast<const __m256i*>(p);
  return {_mm256_load_si256(line), _mm256_load_si256(line + 1)};
}
BRIO_LANE_INLINE void store_line(void* p, Line v) {
  auto* line = static_cast<__m256i*>(p);
  _mm256_store_si256(line, v.lo);
  _mm256_store_si256(line + 1, v.hi);
}
template <int kShift>
BRIO_LANE_INLINE Line shift_left(Line v) {
  return {_mm256_slli_epi16(v.lo, kShift), _mm256_slli_epi16(v.hi, kShift)};
}
template <int kShift>
BRIO_LANE_INLINE Line shift_right(Line v) {
  return {_mm256_srli_epi16(v.lo, kShift), _mm256_srli_epi16(v.hi, kShift)};
}
template <int kMask>
BRIO_LANE_INLINE Line mask_bytes(Line v) {
  const __m256i mask = _mm256_set1_epi8(static_cast<char>(kMask));
  return {_mm256_and_si256(v.lo, mask), _mm256_and_si256(v.hi, mask)};
}
BRIO_LANE_INLINE Line merge(Line a, Line b) {
  return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}
BRIO_LANE_INLINE Line rebias(Line v) {
  const __m256i bias = _mm256_set1_epi8(static_cast<char>(0x80));
  return {_mm256_xor_si256(v.lo, bias), _mm256_xor_si256(v.hi, bias)};
}
BRIO_LANE_INLINE Levels iq4_levels() {
  return {_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Levels)))};
}
BRIO_LANE_INLINE Line look_up(Levels levels, Line v) {
  return {_mm256_shuffle_epi8(levels.v, v.lo), _mm256_shuffle_epi8(levels.v, v.hi)};
}

BRIO_LANE_INLINE Bytes16 load_bytes(const void* p) {
  return {_mm_load_si128(static_cast<const __m128i*>(p))};
}
BRIO_LANE_INLINE Bytes16 field(Bytes16 v, int shift, int mask) {
  return {_mm_and_si128(_mm_srl_epi16(v.v, _mm_cvtsi32_si128(shift)), _mm_set1_epi8(static_cast<char>(mask)))};
}
BRIO_LANE_INLINE Bytes16 raise_4(Bytes16 v) {
  return {_mm_slli_epi16(v.v, 4)};
}
BRIO_LANE_INLINE Bytes16 merge(Bytes16 a, Bytes16 b) {
  return {_mm_or_si128(a.v, b.v)};
}
BRIO_LANE_INLINE F32x16 unsigned_to_f32(Bytes16 v) {
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(v.v)),
          _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(v.v, v.v)))};
}
BRIO_LANE_INLINE F32x16 signed_to_f32(Bytes16 v) {
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v.v)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(v.v, v.v)))};
}
BRIO_LANE_INLINE F32x16 load_f16(const void* p) {
  const auto* half = static_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_load_si128(half)), _mm256_cvtph_ps(_mm_load_si128(half + 1))};
}

BRIO_LANE_INLINE Ints no_ints() {
  return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
BRIO_LANE_INLINE Ints weighted_pair(const int16_t* sums, int low, int high) {
  int pair;
  std::memcpy(&pair, sums, sizeof(pair));
  const __m256i weights = _mm256_set1_epi32((low & 0xFFFF) | static_cast<int>(static_cast<unsigned>(high) << 16));
  const __m256i v = _mm256_madd_epi16(_mm256_set1_epi32(pair), weights);
  return {v, v};
}
BRIO_LANE_INLINE Ints broadcast_int(int32_t x) {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
BRIO_LANE_INLINE F32x16 to_f32(Ints v) {
  return {_mm256_cvtepi32_ps(v.lo), _mm256_cvtepi32_ps(v.hi)};
}

// Of 8 groups of 32 k: the sum of x times a factor, and times the scales, from the sums of 16 k.
inline constexpr bool kHasStretchSums = true;
BRIO_LANE_INLINE void store_stretch_sums(const int16_t* sums, int factor, int32_t* out) {
  const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm256_madd_epi16(v, _mm256_set1_epi16(static_cast<int16_t>(factor))));
}
BRIO_LANE_INLINE void store_stretch_sums(const int16_t* sums, const float* scales, float* out) {
  const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums));
  const __m256 sum = _mm256_cvtepi32_ps(_mm256_madd_epi16(v, _mm256_set1_epi16(1)));
  _mm256_storeu_ps(out, _mm256_mul_ps(_mm256_loadu_ps(scales), sum));
}

BRIO_LANE_INLINE Quad broadcast_quad(const int8_t* x) {
  int quad;
  std::memcpy(&quad, x, sizeof(quad));
  return {_mm256_set1_epi32(quad)};
}
BRIO_LANE_INLINE Partial open(Ints) {
  return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
template <int kBits>
BRIO_LANE_INLINE __m256i multiply_codes(__m256i w, __m256i x) {
  if constexpr (kBits == 8) return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
  return _mm256_maddubs_epi16(w, x);
}
// The sum as it stands, opaque to the compiler: g++ would turn the chain of integer additions into a tree, with every
// product of the group alive, and spill them all.
BRIO_LANE_INLINE __m256i in_order(__m256i v) {
  __asm__("" : "+x"(v));
  return v;
}
template <int kBits>
BRIO_LANE_INLINE Partial multiply_add(Partial sum, Line w, Quad x) {
  return {in_order(_mm256_add_epi16(sum.lo, multiply_codes<kBits>(w.lo, x.v))),
          in_order(_mm256_add_epi16(sum.hi, multiply_codes<kBits>(w.hi, x.v)))};
}
BRIO_LANE_INLINE Ints close(Partial sum, Ints total) {
  const __m256i ones = _mm256_set1_epi16(1);
  return {_mm256_add_epi32(total.lo, _mm256_madd_epi16(sum.lo, ones)),
          _mm256_add_epi32(total.hi, _mm256_madd_epi16(sum.hi, ones))};
}

// Bytes as s16: vpsignb, vpmaddubsw and vpmaddwd share two of the four vector pipes (Zen 3), so a byte step of all three
// takes 1.5 cycles a line half; two steps of vpmaddwd and vpaddd take 1.
template <int kBits>
struct Wide {
  // Sign-extends bytes 0 and 1 (k0 = 0) or 2 and 3 (k0 = 2) of every lane.
  static BRIO_LANE_INLINE __m256i pair(__m256i bytes, int k0) {
    const __m256i lane = _mm256_setr_epi8(-1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13,  //
                                          -1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13);
    return _mm256_srai_epi16(_mm256_shuffle_epi8(_mm256_srli_epi32(bytes, k0 * 8), lane), 8);
  }
  static BRIO_LANE_INLINE void store(uint8_t* two_lines, Line v) {
    store_line(two_lines, {pair(v.lo, 0), pair(v.hi, 0)});
    store_line(two_lines + 64, {pair(v.lo, 2), pair(v.hi, 2)});
  }
  static BRIO_LANE_INLINE void widen(const int8_t* x, int count, int16_t* out) {
    for (int i = 0; i < count; i += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
      _mm256_store_si256(reinterpret_cast<__m256i*>(out + i), _mm256_cvtepi8_epi16(bytes));
    }
  }
  static BRIO_LANE_INLINE Quad broadcast_pair(const int16_t* x) {
    int pair;
    std::memcpy(&pair, x, sizeof(pair));
    return {_mm256_set1_epi32(pair)};
  }
  static BRIO_LANE_INLINE Ints multiply_add(Ints total, Line w, Quad x) {
    return {in_order(_mm256_add_epi32(total.lo, _mm256_madd_epi16(w.lo, x.v))),
            in_order(_mm256_add_epi32(total.hi, _mm256_madd_epi16(w.hi, x.v)))};
  }
};

BRIO_LANE_INLINE uint32_t largest_magnitude(F32x16 a, F32x16 b) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  const __m256i x = _mm256_max_epu32(_mm256_and_si256(as_words(a.lo), mask), _mm256_and_si256(as_words(a.hi), mask));
  const __m256i y = _mm256_max_epu32(_mm256_and_si256(as_words(b.lo), mask), _mm256_and_si256(as_words(b.hi), mask));
  const __m256i eight = _mm256_max_epu32(x, y);
  const __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4E));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_shuffle_epi32(two, 0xB1))));
}
BRIO_LANE_INLINE int store_rounded(int8_t* out, F32x16 v) {
  const __m256i crossed = _mm256_packs_epi32(_mm256_cvtps_epi32(v.lo), _mm256_cvtps_epi32(v.hi));
  const __m256i words = _mm256_permute4x64_epi64(crossed, 0xD8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
  const __m128i biased = _mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(0x80)));
  const __m128i sums = _mm_sad_epu8(biased, _mm_setzero_si128());  // of 8 bytes each
  return _mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_unpackhi_epi64(sums, sums))) - 16 * 128;
}
BRIO_LANE_INLINE void store_high_halves(uint16_t* out, F32x16 v) {
  const __m256i lo = _mm256_srli_epi32(as_words(v.lo), 16);
  const __m256i hi = _mm256_srli_epi32(as_words(v.hi), 16);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(lo, hi), 0xD8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), packed);
}
