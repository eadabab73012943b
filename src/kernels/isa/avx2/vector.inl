// F32x16 as two ymm registers: see kernels/vector.h for what each operation promises.
// clang-format off

struct F32x16 {
  __m256 lo, hi;
};
struct U32x16 {
  __m256i lo, hi;
};
struct Mask {
  __m256 lo, hi;
};

BRIO_LANE_INLINE __m256 as_float(__m256i v) { return _mm256_castsi256_ps(v); }
BRIO_LANE_INLINE __m256i as_words(__m256 v) { return _mm256_castps_si256(v); }
BRIO_LANE_INLINE __m256i lane_numbers(int first) {
  return _mm256_add_epi32(_mm256_set1_epi32(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
BRIO_LANE_INLINE U32x16 first_lanes(int n) {
  const __m256i count = _mm256_set1_epi32(n);
  return {_mm256_cmpgt_epi32(count, lane_numbers(0)), _mm256_cmpgt_epi32(count, lane_numbers(8))};
}

BRIO_LANE_INLINE F32x16 broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
BRIO_LANE_INLINE F32x16 zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
BRIO_LANE_INLINE F32x16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
BRIO_LANE_INLINE F32x16 load_first(const float* p, int n) {
  const U32x16 mask = first_lanes(n);
  return {_mm256_maskload_ps(p, mask.lo), _mm256_maskload_ps(p + 8, mask.hi)};
}
BRIO_LANE_INLINE void store(float* p, F32x16 v) {
  _mm256_storeu_ps(p, v.lo);
  _mm256_storeu_ps(p + 8, v.hi);
}
BRIO_LANE_INLINE void store_first(float* p, F32x16 v, int n) {
  const U32x16 mask = first_lanes(n);
  _mm256_maskstore_ps(p, mask.lo, v.lo);
  _mm256_maskstore_ps(p + 8, mask.hi, v.hi);
}
BRIO_LANE_INLINE U32x16 load_pairs(const uint32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
BRIO_LANE_INLINE U32x16 load_pairs_first(const uint32_t* p, int n) {
  const U32x16 mask = first_lanes(n);
  return {_mm256_maskload_epi32(reinterpret_cast<const int*>(p), mask.lo),
          _mm256_maskload_epi32(reinterpret_cast<const int*>(p + 8), mask.hi)};
}

BRIO_LANE_INLINE F32x16 add(F32x16 a, F32x16 b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
BRIO_LANE_INLINE F32x16 sub(F32x16 a, F32x16 b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
BRIO_LANE_INLINE F32x16 mul(F32x16 a, F32x16 b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
BRIO_LANE_INLINE F32x16 div(F32x16 a, F32x16 b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
BRIO_LANE_INLINE F32x16 sqrt(F32x16 a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }
BRIO_LANE_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
BRIO_LANE_INLINE F32x16 maximum(F32x16 a, F32x16 b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }

BRIO_LANE_INLINE Mask less(F32x16 a, F32x16 b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
BRIO_LANE_INLINE Mask is_nan(F32x16 a) {
  return {_mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q), _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q)};
}
BRIO_LANE_INLINE Mask lanes_between(int begin, int end) {
  const U32x16 before = first_lanes(begin);
  const U32x16 inside = first_lanes(end);
  return {as_float(_mm256_andnot_si256(before.lo, inside.lo)), as_float(_mm256_andnot_si256(before.hi, inside.hi))};
}
BRIO_LANE_INLINE F32x16 select(Mask m, F32x16 a, F32x16 b) {
  return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)};
}

BRIO_LANE_INLINE F32x16 absolute(F32x16 a) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}
BRIO_LANE_INLINE F32x16 negate(F32x16 a) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  return {_mm256_xor_ps(sign, a.lo), _mm256_xor_ps(sign, a.hi)};
}
BRIO_LANE_INLINE F32x16 negate_even_lanes(F32x16 a) {
  const __m256 sign = _mm256_setr_ps(-0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F);
  return {_mm256_xor_ps(sign, a.lo), _mm256_xor_ps(sign, a.hi)};
}
BRIO_LANE_INLINE F32x16 copy_sign(F32x16 magnitude, F32x16 sign) {
  const __m256 bit = _mm256_set1_ps(-0.0F);
  return {_mm256_or_ps(_mm256_andnot_ps(bit, magnitude.lo), _mm256_and_ps(bit, sign.lo)),
          _mm256_or_ps(_mm256_andnot_ps(bit, magnitude.hi), _mm256_and_ps(bit, sign.hi))};
}
BRIO_LANE_INLINE F32x16 add_exponent(F32x16 v, F32x16 t) {
  return {as_float(_mm256_add_epi32(as_words(v.lo), _mm256_slli_epi32(as_words(t.lo), 23))),
          as_float(_mm256_add_epi32(as_words(v.hi), _mm256_slli_epi32(as_words(t.hi), 23)))};
}

BRIO_LANE_INLINE F32x16 odd(U32x16 u) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000U));
  return {as_float(_mm256_and_si256(u.lo, high)), as_float(_mm256_and_si256(u.hi, high))};
}
BRIO_LANE_INLINE F32x16 even(U32x16 u) {
  return {as_float(_mm256_slli_epi32(u.lo, 16)), as_float(_mm256_slli_epi32(u.hi, 16))};
}
BRIO_LANE_INLINE __m256 round_bf16_half(__m256 v) {
  const __m256i bits = as_words(v);
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000U));
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  const __m256i lowest = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(lowest, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000));
  const __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
  const __m256i small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800000), magnitude);
  const __m256i normal = _mm256_and_si256(_mm256_blendv_epi8(rounded, quiet, nan), high);
  return as_float(_mm256_blendv_epi8(normal, _mm256_andnot_si256(_mm256_set1_epi32(0x7fffffff), bits), small));
}
BRIO_LANE_INLINE F32x16 round_bf16(F32x16 v) { return {round_bf16_half(v.lo), round_bf16_half(v.hi)}; }

BRIO_LANE_INLINE __m256 round_bf16_normal_half(__m256 v) {
  const __m256i bits = as_words(v);
  const __m256i lowest = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(lowest, _mm256_set1_epi32(0x7fff)));
  return as_float(_mm256_and_si256(rounded, _mm256_set1_epi32(static_cast<int>(0xffff0000U))));
}
BRIO_LANE_INLINE F32x16 round_bf16_normal(F32x16 v) {
  return {round_bf16_normal_half(v.lo), round_bf16_normal_half(v.hi)};
}

BRIO_LANE_INLINE F32x16 swap_pairs(F32x16 v) { return {_mm256_permute_ps(v.lo, 0xB1), _mm256_permute_ps(v.hi, 0xB1)}; }
BRIO_LANE_INLINE F32x16 load_twice(const float* p) {
  const __m256 v = _mm256_loadu_ps(p);
  return {_mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)),
          _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7))};
}

BRIO_LANE_INLINE float sum(F32x16 v) {
  const __m256 eight = _mm256_add_ps(v.lo, v.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
BRIO_LANE_INLINE float maximum_lane(F32x16 v) {
  const __m256 eight = _mm256_max_ps(v.lo, v.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
BRIO_LANE_INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
// clang-format on
