// Linear layers with F32, F16 and BF16 weights: fp32 fused multiply-adds, k ascending. Order: linear.h.

// Sources of float weights: kStep k at a time.
struct SourceF32 {
  static constexpr PanelFormat kFormat = PanelFormat::kF32;
  static constexpr int kStep = 1;
  using Element = float;
  static BRIO_LANE_INLINE const float* input(const LinearInput& x) { return x.f32; }
  template <int kRows>
  static BRIO_LANE_INLINE void add_step(const std::byte* w, const float* x, ptrdiff_t stride, F32x16 (&acc)[kRows]) {
    const F32x16 weight = load(reinterpret_cast<const float*>(w));
    for (int r = 0; r < kRows; ++r) acc[r] = fma(weight, broadcast(x[r * stride]), acc[r]);
  }
};

struct SourceF16 {
  static constexpr PanelFormat kFormat = PanelFormat::kF16;
  static constexpr int kStep = 1;
  using Element = float;
  static BRIO_LANE_INLINE const float* input(const LinearInput& x) { return x.f32; }
  template <int kRows>
  static BRIO_LANE_INLINE void add_step(const std::byte* w, const float* x, ptrdiff_t stride, F32x16 (&acc)[kRows]) {
    const F32x16 weight = load_f16(w);
    for (int r = 0; r < kRows; ++r) acc[r] = fma(weight, broadcast(x[r * stride]), acc[r]);
  }
};

struct SourceBF16 {
  static constexpr PanelFormat kFormat = PanelFormat::kBF16;
  static constexpr int kStep = 2;
  using Element = uint16_t;
  static BRIO_LANE_INLINE const uint16_t* input(const LinearInput& x) { return x.bf16; }
  template <int kRows>
  static BRIO_LANE_INLINE void add_step(const std::byte* w, const uint16_t* x, ptrdiff_t stride, F32x16 (&acc)[kRows]) {
    const U32x16 pairs = load_pairs(reinterpret_cast<const uint32_t*>(w));
    const F32x16 second = odd(pairs);
    for (int r = 0; r < kRows; ++r) acc[r] = fma(second, broadcast(bf16_to_f32(x[r * stride + 1])), acc[r]);
    const F32x16 first = even(pairs);
    for (int r = 0; r < kRows; ++r) acc[r] = fma(first, broadcast(bf16_to_f32(x[r * stride])), acc[r]);
  }
};

// kRows rows times kPanels neighbouring panels: few rows take several panels, so that enough sums are under way.
template <class S, int kRows, int kPanels>
inline void float_tile(const std::byte* panel, int64_t bytes, int k, const typename S::Element* x, ptrdiff_t stride,
                       int row, int p, const LinearOutput& out) {
  constexpr int64_t kStepBytes = layout(S::kFormat).group_bytes / kGroup * S::kStep;
  F32x16 acc[kPanels][kRows];
  for (int i = 0; i < kPanels; ++i) {
    for (int r = 0; r < kRows; ++r) acc[i][r] = zero();
  }
  for (int step = 0; step < k / S::kStep; ++step) {
    for (int i = 0; i < kPanels; ++i) {
      S::add_step(panel + i * bytes + step * kStepBytes, x + step * S::kStep, stride, acc[i]);
    }
  }
  for (int i = 0; i < kPanels; ++i) {
    for (int r = 0; r < kRows; ++r) write_row(acc[i][r], row + r, p + i, out);
  }
}

// Rows [0, num_rows) of one group of kPanels panels in balanced tiles of at most kRows.
template <class S, int kRows, int kPanels>
inline void float_rows(int rows, const std::byte* panel, int64_t bytes, int k, const LinearInput& x, int row, int p,
                       const LinearOutput& out) {
  if (rows == kRows) {
    float_tile<S, kRows, kPanels>(panel, bytes, k, S::input(x) + row * x.stride, x.stride, row, p, out);
  } else if constexpr (kRows > 1) {
    float_rows<S, kRows - 1, kPanels>(rows, panel, bytes, k, x, row, p, out);
  }
}

template <class S>
inline void linear_floats(const PanelRange& w, int k, const LinearInput& x, int num_rows, const LinearOutput& out) {
  const int padded = padded_k(k);
  const int64_t bytes = groups_bytes(layout(S::kFormat), padded / kGroup);
  int p = 0;
  if (num_rows <= 2) {
    for (; p + 4 <= w.count; p += 4) float_rows<S, 2, 4>(num_rows, w.first + p * bytes, bytes, padded, x, 0, p, out);
  }
  const int tiles = (num_rows + kFloatTileRows - 1) / kFloatTileRows;
  for (; p < w.count; ++p) {
    for (int tile = 0; tile < tiles; ++tile) {
      const int row = static_cast<int>(static_cast<int64_t>(num_rows) * tile / tiles);
      const int rows = static_cast<int>(static_cast<int64_t>(num_rows) * (tile + 1) / tiles) - row;
      float_rows<S, kFloatTileRows, 1>(rows, w.first + p * bytes, bytes, padded, x, row, p, out);
    }
  }
}
