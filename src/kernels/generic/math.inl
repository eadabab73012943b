// exp, tanh, silu and gelu of 16 lanes: one fixed polynomial and order for every ISA (DESIGN R3, R9). Under FTZ and DAZ.

// exp(x): x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) = 1 + (r + r^2 q(r)), q the minimax polynomial of degree 4 for relative
// error 3.1e-9; 2^n is added to the exponent field. Relative error <= 1.5 * 2^-24 + 3.1e-9. Below -86.5 (2.7e-38; the
// smallest normal number is 1.2e-38) the result is 0, so that the exponent never leaves the normal range; above
// ln(FLT_MAX) it is infinite; NaN stays.
BRIO_LANE_INLINE F32x16 exp_in_range(F32x16 x) {
  const F32x16 magic = broadcast(0x1.8p23F);  // adding it leaves round(x / ln 2) in the low bits
  const F32x16 t = fma(x, broadcast(0x1.715476p+0F), magic);
  const F32x16 n = sub(t, magic);
  F32x16 r = fma(n, broadcast(-0x1.62e430p-1F), x);  // ln 2 in two parts
  r = fma(n, broadcast(0x1.05c610p-29F), r);
  F32x16 q = broadcast(0x1.6a2352p-10F);
  q = fma(q, r, broadcast(0x1.123a6cp-7F));
  q = fma(q, r, broadcast(0x1.5558f4p-5F));
  q = fma(q, r, broadcast(0x1.555490p-3F));
  q = fma(q, r, broadcast(0x1.fffffcp-2F));
  const F32x16 e = add(broadcast(1.0F), fma(mul(r, r), q, r));
  return add_exponent(e, t);
}

// exp(x) of x <= 0 or NaN.
BRIO_LANE_INLINE F32x16 exp_not_positive(F32x16 x) {
  const F32x16 e = select(less(x, broadcast(-86.5F)), zero(), exp_in_range(x));
  return select(is_nan(x), x, e);
}

BRIO_LANE_INLINE F32x16 exp(F32x16 x) {
  const F32x16 e = exp_not_positive(x);
  return select(less(broadcast(0x1.62e42ep+6F), x), broadcast(__builtin_inff()), e);
}

// tanh(x): below 0.625 x + x^3 p(x^2), p the minimax polynomial of degree 4 (relative error 4.2e-9); above
// 1 - 2 / (exp(2 |x|) + 1), whose second term is at most 0.45. Relative error <= 2^-22.
BRIO_LANE_INLINE F32x16 tanh(F32x16 x) {
  const F32x16 a = absolute(x);
  const F32x16 z = mul(x, x);
  F32x16 p = broadcast(-0x1.76ac1ap-8F);
  p = fma(p, z, broadcast(0x1.5256d8p-6F));
  p = fma(p, z, broadcast(-0x1.b84448p-5F));
  p = fma(p, z, broadcast(0x1.110768p-3F));
  p = fma(p, z, broadcast(-0x1.555534p-2F));
  const F32x16 small = fma(mul(a, z), p, a);
  const F32x16 e = exp(add(a, a));
  const F32x16 large = sub(broadcast(1.0F), div(broadcast(2.0F), add(e, broadcast(1.0F))));
  return copy_sign(select(less(a, broadcast(0.625F)), small, large), x);
}

// x / (1 + exp(-x)). x = -inf is taken as -FLT_MAX, so that the result is its limit, -0, and not NaN.
BRIO_LANE_INLINE F32x16 silu(F32x16 x) {
  const F32x16 finite = maximum(broadcast(-__FLT_MAX__), x);
  return div(finite, add(broadcast(1.0F), exp(negate(finite))));
}

// x / (1 + exp(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3) = x sqrt(2 / pi) (1 + 0.044715 x^2): 0.5 x (1 + tanh u), with
// 1 + tanh u = 2 / (1 + exp(-2u)), which does not cancel.
BRIO_LANE_INLINE F32x16 gelu_tanh(F32x16 x) {
  const F32x16 finite = maximum(broadcast(-__FLT_MAX__), x);
  const F32x16 bracket = fma(mul(broadcast(0.044715F), finite), finite, broadcast(1.0F));
  const F32x16 minus_2u = mul(mul(broadcast(-1.5957691216057308F), finite), bracket);
  return div(finite, add(broadcast(1.0F), exp(minus_2u)));
}
