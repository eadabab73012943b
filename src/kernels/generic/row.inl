// Row kernels on the virtual vector; kernels/row.h states their order and error bounds.

// Sum of squares in 16 lanes and the tree of sum().
BRIO_LANE_INLINE F32x16 inverse_rms(const float* x, int n, float epsilon) {
  F32x16 squares = zero();
  int i = 0;
  for (; i + 16 <= n; i += 16) {
    const F32x16 v = load(x + i);
    squares = fma(v, v, squares);
  }
  if (i < n) {
    const F32x16 v = load_first(x + i, n - i);
    squares = fma(v, v, squares);
  }
  const F32x16 mean = div(broadcast(sum(squares)), broadcast(static_cast<float>(n)));
  return div(broadcast(1.0F), sqrt(add(mean, broadcast(epsilon))));
}

inline void rms_norm(const float* x, const float* weight, int n, float epsilon, float* out) {
  const F32x16 r = inverse_rms(x, n, epsilon);
  int i = 0;
  for (; i + 16 <= n; i += 16) store(out + i, mul(mul(load(x + i), r), load(weight + i)));
  const int rest = n - i;
  if (rest > 0) store_first(out + i, mul(mul(load_first(x + i, rest), r), load_first(weight + i, rest)), rest);
}

inline void rms_norm_add(const float* x, const float* weight, int n, float epsilon, float* y) {
  const F32x16 r = inverse_rms(x, n, epsilon);
  int i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, fma(mul(load(x + i), r), load(weight + i), load(y + i)));
  const int rest = n - i;
  if (rest == 0) return;
  const F32x16 scaled = mul(load_first(x + i, rest), r);
  store_first(y + i, fma(scaled, load_first(weight + i, rest), load_first(y + i, rest)), rest);
}

inline void rotate_halves(float* x, const float* cos, const float* sin, int num_pairs) {
  float* y = x + num_pairs;
  int i = 0;
  for (; i + 16 <= num_pairs; i += 16) {
    const F32x16 a = load(x + i);
    const F32x16 b = load(y + i);
    const F32x16 c = load(cos + i);
    const F32x16 s = load(sin + i);
    store(x + i, fma(a, c, negate(mul(b, s))));
    store(y + i, fma(b, c, mul(a, s)));
  }
  const int rest = num_pairs - i;
  if (rest == 0) return;
  const F32x16 a = load_first(x + i, rest);
  const F32x16 b = load_first(y + i, rest);
  const F32x16 c = load_first(cos + i, rest);
  const F32x16 s = load_first(sin + i, rest);
  store_first(x + i, fma(a, c, negate(mul(b, s))), rest);
  store_first(y + i, fma(b, c, mul(a, s)), rest);
}

inline void rotate_interleaved(float* x, const float* cos, const float* sin, int num_pairs) {
  int i = 0;
  for (; i + 8 <= num_pairs; i += 8) {
    const F32x16 v = load(x + 2 * i);
    const F32x16 crossed = mul(swap_pairs(v), load_twice(sin + i));  // (b sin, a sin)
    store(x + 2 * i, fma(v, load_twice(cos + i), negate_even_lanes(crossed)));
  }
  const int rest = num_pairs - i;
  if (rest == 0) return;
  float c[8] = {};
  float s[8] = {};
  for (int j = 0; j < rest; ++j) {
    c[j] = cos[i + j];
    s[j] = sin[i + j];
  }
  const F32x16 v = load_first(x + 2 * i, 2 * rest);
  const F32x16 crossed = mul(swap_pairs(v), load_twice(s));
  store_first(x + 2 * i, fma(v, load_twice(c), negate_even_lanes(crossed)), 2 * rest);
}

// out = f(x) * factor, or f(x) where there is no factor.
template <F32x16 (*f)(F32x16), bool kHasFactor>
BRIO_LANE_INLINE void map_row(const float* x, const float* factor, int n, float* out) {
  int i = 0;
  for (; i + 16 <= n; i += 16) {
    const F32x16 v = f(load(x + i));
    store(out + i, kHasFactor ? mul(v, load(factor + i)) : v);
  }
  const int rest = n - i;
  if (rest == 0) return;
  const F32x16 v = f(load_first(x + i, rest));
  store_first(out + i, kHasFactor ? mul(v, load_first(factor + i, rest)) : v, rest);
}

inline void silu_multiply(const float* gate, const float* up, int n, float* out) {
  map_row<silu, true>(gate, up, n, out);
}
inline void gelu_tanh_multiply(const float* gate, const float* up, int n, float* out) {
  map_row<gelu_tanh, true>(gate, up, n, out);
}
inline void exp_row(const float* x, int n, float* out) {
  map_row<exp, false>(x, x, n, out);
}
inline void tanh_row(const float* x, int n, float* out) {
  map_row<tanh, false>(x, x, n, out);
}

inline constexpr RowKernels kRowKernels = {rms_norm,      rms_norm_add,       rotate_halves, rotate_interleaved,
                                           silu_multiply, gelu_tanh_multiply, exp_row,       tanh_row};
