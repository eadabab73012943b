// Quantised activation rows: quantize_rows.h has the rule, reference/linear_reference.cc the plain form.

// One group from two vectors; lanes past the end of the row are zero.
BRIO_LANE_INLINE void quantize_group(F32x16 a, F32x16 b, QuantizedRow out) {
  constexpr uint32_t kInfinity = 0x7f800000U;
  const uint32_t largest = largest_magnitude(a, b);
  float amax;
  std::memcpy(&amax, &largest, sizeof(amax));
  float inverse = 0.0F;
  if (largest >= kInfinity) {
    constexpr uint32_t kNan = 0x7fc00000U;
    std::memcpy(out.scales, &kNan, sizeof(kNan));
    a = zero();
    b = zero();
  } else if (amax < kSmallestAmax) {
    *out.scales = 0.0F;
  } else {
    *out.scales = amax / 127.0F;
    inverse = 127.0F / amax;
  }
  const F32x16 factor = broadcast(inverse);
  out.sums[0] = static_cast<int16_t>(store_rounded(out.values, mul(a, factor)));
  out.sums[1] = static_cast<int16_t>(store_rounded(out.values + 16, mul(b, factor)));
}

BRIO_LANE_INLINE int lanes_left(int k) {
  return k < 0 ? 0 : k < 16 ? k : 16;
}

inline void quantize_row(const float* x, int k, QuantizedRow out) {
  int i = 0;
  for (; i + kGroup <= k; i += kGroup) quantize_group(load(x + i), load(x + i + 16), out.at(i));
  if (i == k) return;
  const int rest = k - i;
  const F32x16 second = rest > 16 ? load_first(x + i + 16, lanes_left(rest - 16)) : zero();
  quantize_group(load_first(x + i, lanes_left(rest)), second, out.at(i));
}

inline void round_row_bf16(const float* x, int k, uint16_t* out) {
  int i = 0;
  for (; i + 16 <= k; i += 16) store_high_halves(out + i, round_bf16(load(x + i)));
  if (i < k) {
    store_high_halves(out + i, round_bf16(load_first(x + i, k - i)));
    i += 16;
  }
  if (i < padded_k(k)) store_high_halves(out + i, zero());
}

inline constexpr QuantizeKernels kQuantizeKernels = {quantize_row, round_row_bf16};
