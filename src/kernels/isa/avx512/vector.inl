// F32x16 as one zmm register: see kernels/vector.h for what each operation promises.
// clang-format off

struct F32x16 {
  __m512 v;
};
struct U32x16 {
  __m512i v;
};
struct Mask {
  __mmask16 m;
};

BRIO_LANE_INLINE __m512 as_float(__m512i v) { return _mm512_castsi512_ps(v); }
BRIO_LANE_INLINE __m512i as_words(__m512 v) { return _mm512_castps_si512(v); }
BRIO_LANE_INLINE __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1U << n) - 1U); }

BRIO_LANE_INLINE F32x16 broadcast(float x) { return {_mm512_set1_ps(x)}; }
BRIO_LANE_INLINE F32x16 zero() { return {_mm512_setzero_ps()}; }
BRIO_LANE_INLINE F32x16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
BRIO_LANE_INLINE F32x16 load_first(const float* p, int n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
BRIO_LANE_INLINE void store(float* p, F32x16 a) { _mm512_storeu_ps(p, a.v); }
BRIO_LANE_INLINE void store_first(float* p, F32x16 a, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), a.v); }
BRIO_LANE_INLINE U32x16 load_pairs(const uint32_t* p) { return {_mm512_loadu_si512(p)}; }
BRIO_LANE_INLINE U32x16 load_pairs_first(const uint32_t* p, int n) {
  return {_mm512_maskz_loadu_epi32(first_lanes(n), p)};
}

BRIO_LANE_INLINE F32x16 add(F32x16 a, F32x16 b) { return {_mm512_add_ps(a.v, b.v)}; }
BRIO_LANE_INLINE F32x16 sub(F32x16 a, F32x16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
BRIO_LANE_INLINE F32x16 mul(F32x16 a, F32x16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
BRIO_LANE_INLINE F32x16 div(F32x16 a, F32x16 b) { return {_mm512_div_ps(a.v, b.v)}; }
BRIO_LANE_INLINE F32x16 sqrt(F32x16 a) { return {_mm512_sqrt_ps(a.v)}; }
BRIO_LANE_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
BRIO_LANE_INLINE F32x16 maximum(F32x16 a, F32x16 b) { return {_mm512_max_ps(a.v, b.v)}; }

BRIO_LANE_INLINE Mask less(F32x16 a, F32x16 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
BRIO_LANE_INLINE Mask is_nan(F32x16 a) { return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)}; }
BRIO_LANE_INLINE Mask lanes_between(int begin, int end) {
  return {static_cast<__mmask16>(first_lanes(end) & ~static_cast<unsigned>(first_lanes(begin)))};
}
BRIO_LANE_INLINE F32x16 select(Mask m, F32x16 a, F32x16 b) { return {_mm512_mask_blend_ps(m.m, b.v, a.v)}; }

BRIO_LANE_INLINE F32x16 absolute(F32x16 a) {
  return {as_float(_mm512_and_si512(as_words(a.v), _mm512_set1_epi32(0x7fffffff)))};
}
BRIO_LANE_INLINE F32x16 negate(F32x16 a) {
  return {as_float(_mm512_xor_si512(as_words(a.v), _mm512_set1_epi32(INT32_MIN)))};
}
BRIO_LANE_INLINE F32x16 negate_even_lanes(F32x16 a) {
  return {as_float(_mm512_xor_si512(as_words(a.v), _mm512_set1_epi64(int64_t{0x80000000})))};
}
BRIO_LANE_INLINE F32x16 copy_sign(F32x16 magnitude, F32x16 sign) {
  const __m512i bit = _mm512_set1_epi32(INT32_MIN);
  return {as_float(_mm512_or_si512(_mm512_andnot_si512(bit, as_words(magnitude.v)),
                                   _mm512_and_si512(bit, as_words(sign.v))))};
}
BRIO_LANE_INLINE F32x16 add_exponent(F32x16 a, F32x16 t) {
  return {as_float(_mm512_add_epi32(as_words(a.v), _mm512_slli_epi32(as_words(t.v), 23)))};
}

BRIO_LANE_INLINE F32x16 odd(U32x16 u) {
  return {as_float(_mm512_and_si512(u.v, _mm512_set1_epi32(static_cast<int>(0xffff0000U))))};
}
BRIO_LANE_INLINE F32x16 even(U32x16 u) { return {as_float(_mm512_slli_epi32(u.v, 16))}; }
BRIO_LANE_INLINE F32x16 round_bf16(F32x16 a) {
  const __m512i bits = as_words(a.v);
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
  const __m512i lowest = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(lowest, _mm512_set1_epi32(0x7fff)));
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
  const __mmask16 nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000));
  const __mmask16 small = _mm512_cmpgt_epi32_mask(_mm512_set1_epi32(0x00800000), magnitude);
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  const __m512i normal = _mm512_and_si512(_mm512_mask_blend_epi32(nan, rounded, quiet), high);
  const __m512i signed_zero = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MIN));
  return {as_float(_mm512_mask_blend_epi32(small, normal, signed_zero))};
}

BRIO_LANE_INLINE F32x16 round_bf16_normal(F32x16 a) {
  const __m512i bits = as_words(a.v);
  const __m512i lowest = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(lowest, _mm512_set1_epi32(0x7fff)));
  return {as_float(_mm512_and_si512(rounded, _mm512_set1_epi32(static_cast<int>(0xffff0000U))))};
}

BRIO_LANE_INLINE F32x16 swap_pairs(F32x16 a) { return {_mm512_shuffle_ps(a.v, a.v, 0xB1)}; }
BRIO_LANE_INLINE F32x16 load_twice(const float* p) {
  const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  return {_mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_loadu_ps(p)))};
}

BRIO_LANE_INLINE __m256 upper_half(__m512 v) {
  return _mm256_castsi256_ps(_mm512_extracti64x4_epi64(_mm512_castps_si512(v), 1));
}
BRIO_LANE_INLINE float sum(F32x16 a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), upper_half(a.v));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
BRIO_LANE_INLINE float maximum_lane(F32x16 a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), upper_half(a.v));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
BRIO_LANE_INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
// clang-format on
