// F32x16 as an array: see kernels/vector.h for what each operation promises.
// clang-format off

struct F32x16 {
  float lane[16];
};
struct U32x16 {
  uint32_t lane[16];
};
struct Mask {
  bool lane[16];
};

BRIO_LANE_INLINE uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
BRIO_LANE_INLINE float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

#define BRIO_LANES(type, expression)                     \
  type out;                                              \
  for (int i = 0; i < 16; ++i) out.lane[i] = expression; \
  return out

BRIO_LANE_INLINE F32x16 broadcast(float x) { BRIO_LANES(F32x16, x); }
BRIO_LANE_INLINE F32x16 zero() { return broadcast(0.0F); }
BRIO_LANE_INLINE F32x16 load(const float* p) { BRIO_LANES(F32x16, p[i]); }
BRIO_LANE_INLINE F32x16 load_first(const float* p, int n) { BRIO_LANES(F32x16, i < n ? p[i] : 0.0F); }
BRIO_LANE_INLINE void store(float* p, F32x16 v) { std::memcpy(p, v.lane, sizeof(v.lane)); }
BRIO_LANE_INLINE void store_first(float* p, F32x16 v, int n) {
  for (int i = 0; i < n; ++i) p[i] = v.lane[i];
}
BRIO_LANE_INLINE U32x16 load_pairs(const uint32_t* p) { BRIO_LANES(U32x16, p[i]); }
BRIO_LANE_INLINE U32x16 load_pairs_first(const uint32_t* p, int n) { BRIO_LANES(U32x16, i < n ? p[i] : 0U); }

BRIO_LANE_INLINE F32x16 add(F32x16 a, F32x16 b) { BRIO_LANES(F32x16, a.lane[i] + b.lane[i]); }
BRIO_LANE_INLINE F32x16 sub(F32x16 a, F32x16 b) { BRIO_LANES(F32x16, a.lane[i] - b.lane[i]); }
BRIO_LANE_INLINE F32x16 mul(F32x16 a, F32x16 b) { BRIO_LANES(F32x16, a.lane[i] * b.lane[i]); }
BRIO_LANE_INLINE F32x16 div(F32x16 a, F32x16 b) { BRIO_LANES(F32x16, a.lane[i] / b.lane[i]); }
BRIO_LANE_INLINE F32x16 sqrt(F32x16 a) { BRIO_LANES(F32x16, __builtin_sqrtf(a.lane[i])); }
BRIO_LANE_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  BRIO_LANES(F32x16, std::fma(a.lane[i], b.lane[i], c.lane[i]));
}
BRIO_LANE_INLINE F32x16 maximum(F32x16 a, F32x16 b) {
  BRIO_LANES(F32x16, a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]);
}

BRIO_LANE_INLINE Mask less(F32x16 a, F32x16 b) { BRIO_LANES(Mask, a.lane[i] < b.lane[i]); }
BRIO_LANE_INLINE Mask is_nan(F32x16 a) { BRIO_LANES(Mask, a.lane[i] != a.lane[i]); }
BRIO_LANE_INLINE Mask lanes_between(int begin, int end) { BRIO_LANES(Mask, i >= begin && i < end); }
BRIO_LANE_INLINE F32x16 select(Mask m, F32x16 a, F32x16 b) { BRIO_LANES(F32x16, m.lane[i] ? a.lane[i] : b.lane[i]); }

BRIO_LANE_INLINE F32x16 absolute(F32x16 a) { BRIO_LANES(F32x16, float_of(bits_of(a.lane[i]) & 0x7fffffffU)); }
BRIO_LANE_INLINE F32x16 negate(F32x16 a) { BRIO_LANES(F32x16, float_of(bits_of(a.lane[i]) ^ 0x80000000U)); }
BRIO_LANE_INLINE F32x16 negate_even_lanes(F32x16 a) {
  BRIO_LANES(F32x16, float_of(bits_of(a.lane[i]) ^ (i % 2 == 0 ? 0x80000000U : 0U)));
}
BRIO_LANE_INLINE F32x16 copy_sign(F32x16 magnitude, F32x16 sign) {
  BRIO_LANES(F32x16, float_of((bits_of(magnitude.lane[i]) & 0x7fffffffU) | (bits_of(sign.lane[i]) & 0x80000000U)));
}
BRIO_LANE_INLINE F32x16 add_exponent(F32x16 v, F32x16 t) {
  BRIO_LANES(F32x16, float_of(bits_of(v.lane[i]) + (bits_of(t.lane[i]) << 23)));
}

BRIO_LANE_INLINE F32x16 odd(U32x16 u) { BRIO_LANES(F32x16, float_of(u.lane[i] & 0xffff0000U)); }
BRIO_LANE_INLINE F32x16 even(U32x16 u) { BRIO_LANES(F32x16, float_of(u.lane[i] << 16)); }
BRIO_LANE_INLINE uint32_t round_bf16_bits(uint32_t bits) {
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return (bits | 0x00400000U) & 0xffff0000U;
  if (magnitude < 0x00800000U) return bits & 0x80000000U;
  return (bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U;
}
BRIO_LANE_INLINE F32x16 round_bf16(F32x16 v) { BRIO_LANES(F32x16, float_of(round_bf16_bits(bits_of(v.lane[i])))); }

BRIO_LANE_INLINE F32x16 round_bf16_normal(F32x16 v) {
  BRIO_LANES(F32x16, float_of((bits_of(v.lane[i]) + 0x7fffU + ((bits_of(v.lane[i]) >> 16) & 1U)) & 0xffff0000U));
}

BRIO_LANE_INLINE F32x16 swap_pairs(F32x16 v) { BRIO_LANES(F32x16, v.lane[i ^ 1]); }
BRIO_LANE_INLINE F32x16 load_twice(const float* p) { BRIO_LANES(F32x16, p[i / 2]); }

BRIO_LANE_INLINE float sum(F32x16 v) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) v.lane[i] += v.lane[i + half];
  }
  return v.lane[0];
}
BRIO_LANE_INLINE float maximum_lane(F32x16 v) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) v.lane[i] = v.lane[i] > v.lane[i + half] ? v.lane[i] : v.lane[i + half];
  }
  return v.lane[0];
}
BRIO_LANE_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }
#undef BRIO_LANES
// clang-format on
