// Tiles: kRows activation rows times one panel, for every source of weights, and the loops around them. Order:
// linear.h.
//
// Few rows multiply codes as they are decoded. More rows first expand 256 k of kPanelsAtOnce panels (bytes and fp32 scales,
// 6 KiB a panel; 10 KiB where bytes are widened) and run tiles over that; sums of a row go through memory between stretches
// of 256 k, which changes no rounding. Rows are taken in blocks whose activations stay in L2 while the panels pass by.

inline constexpr int kStretch = 8;  // groups of 32 k that are expanded at a time
inline constexpr int kDirectRows = 8;
inline constexpr int kLinesAtOnce = 8;  // asked for ahead; a core has some 12 to 16 such requests under way
inline constexpr int kMaxBlockRows = 128;
inline constexpr int kBlockBytes = kL2Bytes / 2;  // of s8 activations

// Codes that the ISA multiplies faster as s16 are expanded to two lines a quad: see Wide in lines.h.
template <int kBits>
inline constexpr bool kWide = (kWidensBytes && kBits == 8);

template <bool kAsWide>
struct ExpandedStretch {
  alignas(64) uint8_t codes[kStretch][kAsWide ? 16 : 8][64];
  alignas(64) float scales[kStretch][2][kPanelRows];
  alignas(64) float mins[kStretch][2][kPanelRows];
};

// A source over an expanded stretch.
template <int kCodeBits, int kCodeOffset, int kNumHalves, bool kWithMin>
struct Expanded {
  static constexpr int kBits = kCodeBits;
  static constexpr int kOffset = kCodeOffset;
  static constexpr int kHalves = kNumHalves;
  static constexpr bool kHasMin = kWithMin;
  using Stretch = ExpandedStretch<kWide<kBits>>;
  const Stretch* stretch = nullptr;
  const int16_t* wide_x = nullptr;  // the tile's activations where codes are wide, [rows][256]
  int group = 0;
  BRIO_LANE_INLINE void enter(int g) { group = g % kStretch; }
  template <int kLine>
  BRIO_LANE_INLINE Line codes() const {
    return load_line(stretch->codes[group][kLine]);
  }
  BRIO_LANE_INLINE F32x16 scale(int half) const { return load(stretch->scales[group][half]); }
  BRIO_LANE_INLINE F32x16 min(int half) const { return load(stretch->mins[group][half]); }
};
template <class S>
using ExpandedOf = Expanded<S::kBits, S::kOffset, S::kHalves, S::kHasMin>;
template <class S>
inline constexpr bool kIsExpanded = false;
template <int kBits, int kOffset, int kHalves, bool kHasMin>
inline constexpr bool kIsExpanded<Expanded<kBits, kOffset, kHalves, kHasMin>> = true;

BRIO_LANE_INLINE QuantizedRows rows_from(const QuantizedRows& x, int row) {
  return {x.values + row * x.stride, x.scales + row * (x.stride / kGroup), x.sums + row * (x.stride / (kGroup / 2)),
          x.stride};
}

// kRows rows times kPanels panels; sums of row r and panel p are number p * kRows + r.
template <class S, int kRows, int kPanels, int kQuad, int kEnd>
BRIO_LANE_INLINE void add_quads(const S (&source)[kPanels], const int8_t* x, ptrdiff_t stride,
                                Partial (&sum)[kRows * kPanels]) {
  if constexpr (kQuad < kEnd) {
    Line w[kPanels];
    for (int p = 0; p < kPanels; ++p) w[p] = source[p].template codes<kQuad>();
    for (int r = 0; r < kRows; ++r) {
      const Quad quad = broadcast_quad(x + r * stride + kQuad * 4);
      for (int p = 0; p < kPanels; ++p) {
        sum[p * kRows + r] = multiply_add<S::kBits>(sum[p * kRows + r], w[p], quad);
      }
    }
    add_quads<S, kRows, kPanels, kQuad + 1, kEnd>(source, x, stride, sum);
  }
}

// Quads [kQuad, kEnd) in spans that a Partial can hold.
template <class S, int kRows, int kPanels, int kQuad, int kEnd>
BRIO_LANE_INLINE void add_spans(const S (&source)[kPanels], const int8_t* x, ptrdiff_t stride,
                                Ints (&total)[kRows * kPanels]) {
  if constexpr (kQuad < kEnd) {
    constexpr int kSpanEnd = kQuad + kSpan<S::kBits> < kEnd ? kQuad + kSpan<S::kBits> : kEnd;
    Partial sum[kRows * kPanels];
    for (int i = 0; i < kRows * kPanels; ++i) sum[i] = open(total[i]);
    add_quads<S, kRows, kPanels, kQuad, kSpanEnd>(source, x, stride, sum);
    for (int i = 0; i < kRows * kPanels; ++i) total[i] = close(sum[i], total[i]);
    add_spans<S, kRows, kPanels, kSpanEnd, kEnd>(source, x, stride, total);
  }
}

// All 16 lines of a group of wide codes.
template <class S, int kRows, int kPanels, int kLine>
BRIO_LANE_INLINE void add_wide_lines(const S (&source)[kPanels], Ints (&total)[kRows * kPanels]) {
  static_assert(kPanels == 1);
  if constexpr (kLine < 16) {
    const Line w = source[0].template codes<kLine>();
    const int16_t* x = source[0].wide_x + source[0].group * kGroup + kLine * 2;
    for (int r = 0; r < kRows; ++r) {
      total[r] = Wide<S::kBits>::multiply_add(total[r], w, Wide<S::kBits>::broadcast_pair(x + r * kStretch * kGroup));
    }
    add_wide_lines<S, kRows, kPanels, kLine + 1>(source, total);
  }
}

// What a row adds to its products, group by group: its scale, the offset's share of the integer sum, which sums start from,
// and for mins the scale times the sum of x. SumTerms makes them as they are needed, StretchTerms (below) has them made.
template <class S>
struct SumTerms {
  const QuantizedRows& x;
  BRIO_LANE_INLINE float scale(int group, int r) const { return x.scales[group + r * (x.stride / kGroup)]; }
  template <int kHalf>
  BRIO_LANE_INLINE Ints start(int group, int r) const {
    constexpr int kLow = S::kHalves == 1 || kHalf == 0 ? 1 : 0;
    constexpr int kHigh = S::kHalves == 1 || kHalf == 1 ? 1 : 0;
    return weighted_pair(x.sums + group * 2 + r * (x.stride / 16), -S::kOffset * kLow, -S::kOffset * kHigh);
  }
  template <int kHalf>
  BRIO_LANE_INLINE F32x16 weighed(int group, int r) const {
    constexpr int kLow = S::kHalves == 1 || kHalf == 0 ? 1 : 0;
    constexpr int kHigh = S::kHalves == 1 || kHalf == 1 ? 1 : 0;
    const F32x16 sum = to_f32(weighted_pair(x.sums + group * 2 + r * (x.stride / 16), kLow, kHigh));
    return mul(broadcast(scale(group, r)), sum);
  }
};

// Half kHalf of the group (all of it where kHalves is 1): exact integer sums, then one fma each.
template <class S, int kRows, int kPanels, int kHalf, class Terms>
BRIO_LANE_INLINE void add_half(const S (&source)[kPanels], const Terms& terms, const QuantizedRows& x, int group,
                               F32x16 (&acc)[kRows * kPanels]) {
  constexpr int kQuads = 8 / S::kHalves;
  Ints total[kRows * kPanels];
  for (int i = 0; i < kRows * kPanels; ++i) {
    total[i] = S::kOffset == 0 ? no_ints() : terms.template start<kHalf>(group, i % kRows);
  }
  if constexpr (kIsExpanded<S> && kWide<S::kBits>) {
    static_assert(S::kHalves == 1);
    add_wide_lines<S, kRows, kPanels, 0>(source, total);
  } else {
    add_spans<S, kRows, kPanels, kHalf * kQuads, (kHalf + 1) * kQuads>(source, x.values + group * kGroup, x.stride,
                                                                      total);
  }
  F32x16 ws[kPanels];
  for (int p = 0; p < kPanels; ++p) ws[p] = source[p].scale(kHalf);
  for (int r = 0; r < kRows; ++r) {
    const F32x16 xs = broadcast(terms.scale(group, r));
    for (int p = 0; p < kPanels; ++p) {
      acc[p * kRows + r] = fma(to_f32(total[p * kRows + r]), mul(ws[p], xs), acc[p * kRows + r]);
    }
  }
  if constexpr (S::kHasMin) {
    F32x16 wm[kPanels];
    for (int p = 0; p < kPanels; ++p) wm[p] = source[p].min(kHalf);
    for (int r = 0; r < kRows; ++r) {
      const F32x16 sum = terms.template weighed<kHalf>(group, r);
      for (int p = 0; p < kPanels; ++p) acc[p * kRows + r] = fma(wm[p], sum, acc[p * kRows + r]);
    }
  }
}

// A panel is read front to back, and the next one follows: ask for the lines further on, but not past the last panel: what
// follows it is somebody else's.
template <class S, int kPanels>
BRIO_LANE_INLINE void read_ahead(const S& source, const std::byte* end) {
  constexpr int kBytes = S::kWhere.group_bytes + S::kWhere.header_bytes / S::kWhere.groups;
  constexpr int kDistance = kPanels == 1 ? kReadAhead : kReadAheadOfStream;
  if (source.p + kDistance + kBytes > end) return;
  for (int i = 0; i < kBytes; i += 64) prefetch(source.p + kDistance + i);
}

// What to ask for meanwhile. Expanded codes: some lines with each group, since all at once would hold up the
// multiplications' own loads. Else what follows, up to the end of the panels.
struct LinesAhead {
  const std::byte* first = nullptr;
  int per_group = 0;
  const std::byte* end = nullptr;
};

template <class S, int kRows, int kPanels, class Terms>
BRIO_LANE_INLINE void add_groups(S (&source)[kPanels], const Terms& terms, const QuantizedRows& x, int begin, int end,
                                 F32x16 (&acc)[kRows * kPanels], LinesAhead ahead) {
  for (int group = begin; group < end; ++group) {
    for (int p = 0; p < kPanels; ++p) {
      source[p].enter(group);
      if constexpr (!kIsExpanded<S>) read_ahead<S, kPanels>(source[p], ahead.end);
    }
    if constexpr (kIsExpanded<S>) {
      for (int i = 0; i < ahead.per_group; ++i, ahead.first += 64) prefetch(ahead.first);
    }
    add_half<S, kRows, kPanels, 0>(source, terms, x, group, acc);
    if constexpr (S::kHalves == 2) add_half<S, kRows, kPanels, 1>(source, terms, x, group, acc);
  }
}

// y = acc, + bias, and into or onto the output; lanes past the last column are left alone.
BRIO_LANE_INLINE void write_row(F32x16 acc, int row, int panel, const LinearOutput& out) {
  const int column = panel * kPanelRows;
  float* y = out.y + row * out.stride + column;
  const int lanes = out.columns - column;
  if (lanes >= kPanelRows) {
    if (out.bias != nullptr) acc = add(acc, load(out.bias + column));
    if (out.write == Write::kAdd) acc = add(load(y), acc);
    store(y, acc);
  } else if (lanes > 0) {
    if (out.bias != nullptr) acc = add(acc, load_first(out.bias + column, lanes));
    if (out.write == Write::kAdd) acc = add(load_first(y, lanes), acc);
    store_first(y, acc, lanes);
  }
}

// All of K for kRows rows and kPanels neighbouring panels, codes multiplied as they are decoded.
template <class S, int kRows, int kPanels>
inline void direct_panels(const PanelRange& w, int groups, const QuantizedRows& x, int row, int p,
                          const LinearOutput& out) {
  const int64_t bytes = groups_bytes(S::kWhere, groups);
  F32x16 acc[kRows * kPanels];
  for (int i = 0; i < kRows * kPanels; ++i) acc[i] = zero();
  S source[kPanels];
  for (int i = 0; i < kPanels; ++i) source[i].panel = w.first + (p + i) * bytes;
  add_groups<S, kRows, kPanels>(source, SumTerms<S>{x}, x, 0, groups, acc, {nullptr, 0, w.first + w.count * bytes});
  for (int i = 0; i < kPanels; ++i) {
    for (int r = 0; r < kRows; ++r) write_row(acc[i * kRows + r], row + r, p + i, out);
  }
}

template <class S, int kRows>
inline void direct_tile(int rows, const PanelRange& w, int groups, const QuantizedRows& x, int row, int p,
                        const LinearOutput& out) {
  if (rows == kRows) {
    direct_panels<S, kRows, 1>(w, groups, x, row, p, out);
  } else if constexpr (kRows > 1) {
    direct_tile<S, kRows - 1>(rows, w, groups, x, row, p, out);
  }
}

// Up to four rows, for which memory is the limit: several panels side by side are as many streams for the prefetchers.
// Returns the number of panels done.
template <class S, int kRows, int kPanels>
inline int direct_streams(const PanelRange& w, int groups, const QuantizedRows& x, const LinearOutput& out) {
  int p = 0;
  if constexpr (kPanels > 1) {
    for (; p + kPanels <= w.count; p += kPanels) {
      direct_panels<S, kRows, kPanels>(w, groups, x, 0, p, out);
    }
  }
  return p;
}

// Few rows: each panel is decoded once per tile of rows; the second tile finds it in L1 or L2.
template <class S>
inline void direct(const PanelRange& w, int k, const QuantizedRows& x, int num_rows, const LinearOutput& out) {
  const int groups = padded_k(k) / kGroup;
  const int tiles = (num_rows + kTileRows - 1) / kTileRows;
  int p = 0;
  if (num_rows == 1) p = direct_streams<S, 1, kStreams>(w, groups, x, out);
  if (num_rows == 2) p = direct_streams<S, 2, kStreams / 2>(w, groups, x, out);
  if (num_rows == 3) p = direct_streams<S, 3, kStreams / 2>(w, groups, x, out);
  if (num_rows == 4) p = direct_streams<S, 4, kStreams / 2>(w, groups, x, out);
  for (; p < w.count; ++p) {
    for (int tile = 0; tile < tiles; ++tile) {
      const int row = num_rows * tile / tiles;
      const int rows = num_rows * (tile + 1) / tiles - row;
      direct_tile<S, kTileRows>(rows, w, groups, rows_from(x, row), row, p, out);
    }
  }
}

template <class S, int kQuad>
BRIO_LANE_INLINE void expand_quads(const S& source, uint8_t (*codes)[64]) {
  if constexpr (kQuad < 8) {
    if constexpr (kWide<S::kBits>) {
      Wide<S::kBits>::store(codes[kQuad * 2], source.template codes<kQuad>());
    } else {
      store_line(codes[kQuad], source.template codes<kQuad>());
    }
    expand_quads<S, kQuad + 1>(source, codes);
  }
}

template <class S>
inline void expand(const std::byte* panel, int begin, int end, typename ExpandedOf<S>::Stretch& stretch) {
  S source;
  source.panel = panel;
  for (int group = begin; group < end; ++group) {
    const int i = group % kStretch;
    source.enter(group);
    expand_quads<S, 0>(source, stretch.codes[i]);
    for (int half = 0; half < S::kHalves; ++half) {
      store(stretch.scales[i][half], source.scale(half));
      if constexpr (S::kHasMin) store(stretch.mins[i][half], source.min(half));
    }
  }
}

// SumTerms of one row and a stretch, made once for all panels. Rows lie at a fixed distance: tiles have registers for few
// addresses.
template <class E>
struct RowTerms {
  float scales[kStretch];
  int32_t starts[E::kOffset == 0 ? 1 : kStretch * E::kHalves];
  float weighed[E::kHasMin ? kStretch * E::kHalves : 1];
};
template <class E>
struct StretchTerms {
  const RowTerms<E>* rows;
  BRIO_LANE_INLINE float scale(int group, int r) const { return rows[r].scales[group % kStretch]; }
  template <int kHalf>
  BRIO_LANE_INLINE Ints start(int group, int r) const {
    return broadcast_int(rows[r].starts[group % kStretch * E::kHalves + kHalf]);
  }
  template <int kHalf>
  BRIO_LANE_INLINE F32x16 weighed(int group, int r) const {
    return broadcast(rows[r].weighed[group % kStretch * E::kHalves + kHalf]);
  }
};

// Of one row and groups [begin, end).
template <class E>
inline void make_terms(const QuantizedRows& x, int begin, int end, RowTerms<E>& out) {
  const int16_t* sums = x.sums + begin * 2;
  const float* scales = x.scales + begin;
  for (int i = 0; i < end - begin; ++i) out.scales[i] = scales[i];
  if (kHasStretchSums && E::kHalves == 1 && end - begin == kStretch) {
    if constexpr (E::kOffset != 0) store_stretch_sums(sums, -E::kOffset, out.starts);
    if constexpr (E::kHasMin) store_stretch_sums(sums, scales, out.weighed);
    return;
  }
  for (int i = 0; i < (end - begin) * E::kHalves; ++i) {
    const int sum = E::kHalves == 1 ? sums[i * 2] + sums[i * 2 + 1] : sums[i];
    if constexpr (E::kOffset != 0) out.starts[i] = -E::kOffset * sum;
    if constexpr (E::kHasMin) out.weighed[i] = scales[i / E::kHalves] * static_cast<float>(sum);
  }
}

// The stretch that is expanded next: each tile of this one asks for its share.
struct StretchAhead {
  const std::byte* first;  // panel's
  int64_t panel_bytes;
  int panels;
  int lines;  // of a panel
  int calls_per_tile;
  int tiles;
  LinesAhead of_call(int call) const {
    const int calls = tiles * calls_per_tile;
    const int begin = panels * lines * call / calls;
    const int count = panels * lines * (call + 1) / calls - begin;
    const std::byte* at = first + begin / lines * panel_bytes + begin % lines * 64;
    if (count > kLinesAtOnce) return {at, (count + kStretch - 1) / kStretch};
    for (int i = 0; i < count; ++i) prefetch(at + i * 64);
    return {};
  }
};

// The stretch [begin, end) of the panels under way, and where the sums of their rows are kept.
template <class E>
struct StretchTask {
  const typename E::Stretch* stretches;  // [panels]
  int panels;
  int begin;
  int end;
  float (*sums)[kMaxBlockRows][kPanelRows];  // [panels]
  const RowTerms<E>* terms;                   // [rows]
  StretchAhead ahead;
};

// Adds the stretch to the sums of kRows rows, from `row` of the block on; x is that row.
template <class E, int kRows>
inline void stretch_rows(const StretchTask<E>& task, const QuantizedRows& x, int row, int tile) {
  alignas(64) int16_t wide_x[kWide<E::kBits> ? kRows : 1][kStretch * kGroup];
  if constexpr (kWide<E::kBits>) {
    for (int r = 0; r < kRows; ++r) {
      Wide<E::kBits>::widen(x.values + r * x.stride + task.begin * kGroup, (task.end - task.begin) * kGroup, wide_x[r]);
    }
  }
  const StretchTerms<E> terms = {task.terms + row};
  for (int first = 0; first < task.panels; first += kStretchPanels) {
    E source[kStretchPanels];
    F32x16 acc[kStretchPanels * kRows];
    for (int i = 0; i < kStretchPanels; ++i) {
      const int p = first + i < task.panels ? first + i : first;  // a panel without a neighbour is its own
      source[i].stretch = task.stretches + p;
      if constexpr (kWide<E::kBits>) source[i].wide_x = wide_x[0];
      for (int r = 0; r < kRows; ++r) acc[i * kRows + r] = task.begin == 0 ? zero() : load(task.sums[p][row + r]);
    }
    const LinesAhead ahead = task.ahead.of_call(tile * task.ahead.calls_per_tile + first / kStretchPanels);
    add_groups<E, kRows, kStretchPanels>(source, terms, x, task.begin, task.end, acc, ahead);
    for (int i = 0; i < kStretchPanels && first + i < task.panels; ++i) {
      for (int r = 0; r < kRows; ++r) store(task.sums[first + i][row + r], acc[i * kRows + r]);
    }
  }
}

template <class E, int kRows>
inline void stretch_tile(int rows, const StretchTask<E>& task, const QuantizedRows& x, int row, int tile) {
  if (rows == kRows) {
    stretch_rows<E, kRows>(task, x, row, tile);
  } else if constexpr (kRows > 1) {
    stretch_tile<E, kRows - 1>(rows, task, x, row, tile);
  }
}

// `panels` neighbouring panels for num_rows <= kMaxBlockRows rows. Tiles are balanced: 9 rows are 3 + 3 + 3, not 4 + 4
// + 1. Meanwhile the next stretch is asked for; after the last the first of the panels that follow.
template <class S>
inline void expanded_panels(const std::byte* panel, int panels, int groups, const QuantizedRows& x, int num_rows,
                            float (*sums)[kMaxBlockRows][kPanelRows]) {
  using E = ExpandedOf<S>;
  typename E::Stretch stretches[kPanelsAtOnce];
  RowTerms<E> terms[kMaxBlockRows];
  const int tiles = (num_rows + kStretchRows - 1) / kStretchRows;
  const int64_t bytes = groups_bytes(S::kWhere, groups);
  for (int begin = 0; begin < groups; begin += kStretch) {
    const int end = begin + kStretch < groups ? begin + kStretch : groups;
    for (int p = 0; p < panels; ++p) expand<S>(panel + p * bytes, begin, end, stretches[p]);
    for (int r = 0; r < num_rows; ++r) make_terms<E>(rows_from(x, r), begin, end, terms[r]);
    const StretchAhead ahead = {end == groups ? panel + panels * bytes : panel + S::kWhere.block_offset(end), bytes,
                                panels, static_cast<int>(groups_bytes(S::kWhere, kStretch) / 64),
                                (panels + kStretchPanels - 1) / kStretchPanels, tiles};
    const StretchTask<E> task = {stretches, panels, begin, end, sums, terms, ahead};
    for (int tile = 0; tile < tiles; ++tile) {
      const int row = num_rows * tile / tiles;
      const int rows = num_rows * (tile + 1) / tiles - row;
      stretch_tile<E, kStretchRows>(rows, task, rows_from(x, row), row, tile);
    }
  }
}

// Rows in a block: as many as keep the block's activations in L2, 16 at least.
inline int block_rows(int groups) {
  const int fitting = kBlockBytes / (groups * kGroup);
  return fitting > kMaxBlockRows ? kMaxBlockRows : fitting < 16 ? 16 : fitting;
}

template <class S>
inline void linear(const PanelRange& w, int k, const LinearInput& x, int num_rows, const LinearOutput& out) {
  if (num_rows <= kDirectRows) return direct<S>(w, k, x.s8, num_rows, out);
  const int groups = padded_k(k) / kGroup;
  const int64_t bytes = groups_bytes(S::kWhere, groups);
  const int64_t blocks = (num_rows + block_rows(groups) - 1) / block_rows(groups);
  alignas(64) float sums[kPanelsAtOnce][kMaxBlockRows][kPanelRows];
  for (int64_t block = 0; block < blocks; ++block) {
    const int first = static_cast<int>(num_rows * block / blocks);
    const int rows = static_cast<int>(num_rows * (block + 1) / blocks) - first;
    for (int p = 0; p < w.count; p += kPanelsAtOnce) {
      const int panels = w.count - p < kPanelsAtOnce ? w.count - p : kPanelsAtOnce;
      expanded_panels<S>(w.first + p * bytes, panels, groups, rows_from(x.s8, first), rows, sums);
      for (int i = 0; i < panels; ++i) {
        for (int r = 0; r < rows; ++r) write_row(load(sums[i][r]), first + r, p + i, out);
      }
    }
  }
}
