// Lines of weight codes and integer sums as one zmm register: kernels/lines.h says what each operation promises.

struct Line {
  __m512i v;
};
struct Bytes16 {
  __m128i v;
};
struct Ints {
  __m512i v;
};
using Partial = Ints;
struct Quad {
  __m512i v;
};
struct Levels {
  __m512i v;
};

inline constexpr int kByteBias = 128;
inline constexpr bool kWidensBytes = false;
template <int kBits>
struct Wide;
// 8 rows: 8 integer and 8 float accumulators; vpdpbusd has latency 4 and throughput 1, so 8 chains are more than enough.
inline constexpr int kTileRows = 8;
inline constexpr int kStreams = 4;
// Expanded codes: 12 chains again, and a broadcast of x serves two panels, as loads would else bound the tile.
inline constexpr int kStretchRows = 6;
inline constexpr int kStretchPanels = 2;
// Bytes: some panels on, beyond what the prefetchers of the hardware reach, so that both are at work.
inline constexpr int kReadAhead = 16 * 1024;
inline constexpr int kReadAheadOfStream = 2048;
inline constexpr int kL2Bytes = 1536 * 1024;
inline constexpr int kPanelsAtOnce = 4;
inline constexpr int kFloatTileRows = 8;
template <int kBits>
inline constexpr int kSpan = 8;

BRIO_LANE_INLINE Line load_line(const void* p) {
  return {_mm512_load_si512(p)};
}
BRIO_LANE_INLINE void store_line(void* p, Line v) {
  _mm512_store_si512(p, v.v);
}
template <int kShift>
BRIO_LANE_INLINE Line shift_left(Line v) {
  return {_mm512_slli_epi16(v.v, kShift)};
}
template <int kShift>
BRIO_LANE_INLINE Line shift_right(Line v) {
  return {_mm512_srli_epi16(v.v, kShift)};
}
template <int kMask>
BRIO_LANE_INLINE Line mask_bytes(Line v) {
  return {_mm512_and_si512(v.v, _mm512_set1_epi8(static_cast<char>(kMask)))};
}
BRIO_LANE_INLINE Line merge(Line a, Line b) {
  return {_mm512_or_si512(a.v, b.v)};
}
BRIO_LANE_INLINE Line rebias(Line v) {
  return v;
}
BRIO_LANE_INLINE Levels iq4_levels() {
  const __m128i levels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Levels));
  return {_mm512_xor_si512(_mm512_broadcast_i32x4(levels), _mm512_set1_epi8(static_cast<char>(0x80)))};
}
BRIO_LANE_INLINE Line look_up(Levels levels, Line v) {
  return {_mm512_shuffle_epi8(levels.v, v.v)};
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
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(v.v))};
}
BRIO_LANE_INLINE F32x16 signed_to_f32(Bytes16 v) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(v.v))};
}
BRIO_LANE_INLINE F32x16 load_f16(const void* p) {
  return {_mm512_cvtph_ps(_mm256_load_si256(static_cast<const __m256i*>(p)))};
}

BRIO_LANE_INLINE Ints no_ints() {
  return {_mm512_setzero_si512()};
}
BRIO_LANE_INLINE Ints weighted_pair(const int16_t* sums, int low, int high) {
  int pair;
  std::memcpy(&pair, sums, sizeof(pair));
  const int weights = (low & 0xFFFF) | static_cast<int>(static_cast<unsigned>(high) << 16);
  return {_mm512_madd_epi16(_mm512_set1_epi32(pair), _mm512_set1_epi32(weights))};
}
BRIO_LANE_INLINE Ints broadcast_int(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
BRIO_LANE_INLINE F32x16 to_f32(Ints v) {
  return {_mm512_cvtepi32_ps(v.v)};
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
  return {_mm512_set1_epi32(quad)};
}
BRIO_LANE_INLINE Partial open(Ints total) {
  return total;
}
template <int kBits>
BRIO_LANE_INLINE Partial multiply_add(Partial sum, Line w, Quad x) {
  return {_mm512_dpbusd_epi32(sum.v, w.v, x.v)};
}
BRIO_LANE_INLINE Ints close(Partial sum, Ints) {
  return sum;
}

BRIO_LANE_INLINE uint32_t largest_magnitude(F32x16 a, F32x16 b) {
  const __m512i mask = _mm512_set1_epi32(0x7fffffff);
  const __m512i both = _mm512_max_epu32(_mm512_and_si512(as_words(a.v), mask), _mm512_and_si512(as_words(b.v), mask));
  const __m256i eight = _mm256_max_epu32(_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64(both, 1));
  const __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4E));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_shuffle_epi32(two, 0xB1))));
}
BRIO_LANE_INLINE int store_rounded(int8_t* out, F32x16 v) {
  const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v.v));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
  const __m128i biased = _mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(0x80)));
  const __m128i sums = _mm_sad_epu8(biased, _mm_setzero_si128());  // of 8 bytes each
  return _mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_unpackhi_epi64(sums, sums))) - 16 * 128;
}
BRIO_LANE_INLINE void store_high_halves(uint16_t* out, F32x16 v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(_mm512_srli_epi32(as_words(v.v), 16)));
}
