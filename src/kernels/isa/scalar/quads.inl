// Quads as arrays: kernels/quads.h says what each operation promises.

struct Factors {
  int16_t value[4];
};
struct Ints {
  int32_t lane[16];
};
struct QuadSum {
  uint32_t lane[16];  // wraps
};

template <int M>
inline constexpr int kQuadVectors = 1;

BRIO_LANE_INLINE Ints add(Ints a, Ints b) {
  for (int i = 0; i < 16; ++i) a.lane[i] += b.lane[i];
  return a;
}
BRIO_LANE_INLINE int32_t sum(Ints a) {
  int32_t total = 0;
  for (int i = 0; i < 16; ++i) total += a.lane[i];
  return total;
}
BRIO_LANE_INLINE Ints no_ints() {
  return {};
}
BRIO_LANE_INLINE void store_ints(int32_t* p, F32x16 v) {
  constexpr float kShift = 0x1.8p23F;  // adding it leaves the nearest integer, ties to even, in the low bits
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int32_t>(bits_of(v.lane[i] + kShift) - bits_of(kShift));
}
BRIO_LANE_INLINE Ints store_factors(Factors* out, F32x16 v) {
  Ints all;
  store_ints(all.lane, v);
  for (int i = 0; i < 16; ++i) out[i / 4].value[i % 4] = static_cast<int16_t>(all.lane[i]);
  return all;
}

BRIO_LANE_INLINE QuadSum no_quads() {
  return {};
}
BRIO_LANE_INLINE F32x16 to_f32(QuadSum q, int32_t start) {
  F32x16 out;
  for (int i = 0; i < 16; ++i) {
    out.lane[i] = static_cast<float>(static_cast<int32_t>(q.lane[i] + static_cast<uint32_t>(start)));
  }
  return out;
}

template <int M, int N, int Stride, bool kPrefetch>
BRIO_LANE_INLINE void multiply_quads(const Factors* factors, const uint32_t* words, ptrdiff_t stride, int count,
                                     int lanes, const std::byte* /*ahead*/, QuadSum (&acc)[M][N]) {
  static_assert(N == 1);
  for (int j = 0; j < count; ++j) {
    for (int m = 0; m < M; ++m) {
      const Factors& f = factors[m * Stride + j];
      for (int i = 0; i < lanes; ++i) {
        const uint32_t word = words[j * stride + i];
        const int32_t dot =
            f.value[0] * static_cast<int32_t>(word & 0xFFU) + f.value[1] * static_cast<int32_t>(word >> 8 & 0xFFU) +
            f.value[2] * static_cast<int32_t>(word >> 16 & 0xFFU) + f.value[3] * static_cast<int32_t>(word >> 24);
        acc[m][0].lane[i] += static_cast<uint32_t>(dot);
      }
    }
  }
}
