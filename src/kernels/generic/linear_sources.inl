// Sources: how each quantised format of linear.h yields, group by group, lines of u8 codes and scales per output row.
// Written against isa/*/lines.inl and isa/*/vector.inl.
//
//   S source; source.panel = panel; source.enter(group); source.template codes<quad>(); source.scale(half); source.min(half)
//   kBits     codes are below 2^kBits; 8: values biased by kByteBias, which the ISA chooses
//   kOffset   what the integer dot product subtracts from every code
//   kHalves   2 where scales are per 16 k, else 1        kHasMin  whether min() exists

template <int kShift>
BRIO_LANE_INLINE Line shifted(Line v) {
  if constexpr (kShift > 0) return shift_left<kShift>(v);
  if constexpr (kShift < 0) return shift_right<-kShift>(v);
  return v;
}

// The bricks: k 4 kQuad .. 4 kQuad + 3 of a group, one byte each. Bits shifted in from a neighbouring byte are masked off.
template <int kQuad>
BRIO_LANE_INLINE Line nibbles(const std::byte* p) {
  return mask_bytes<15>(shifted<-(kQuad % 2) * 4>(load_line(p + kQuad / 2 * 64)));
}
template <int kQuad, int kBit>
BRIO_LANE_INLINE Line bits_at(const std::byte* p) {
  return mask_bytes<(1 << kBit)>(shifted<kBit - kQuad>(load_line(p)));
}
template <int kQuad, int kBit>
BRIO_LANE_INLINE Line pairs_at(const std::byte* p) {
  return mask_bytes<(3 << kBit)>(shifted<kBit - kQuad % 4 * 2>(load_line(p + kQuad / 4 * 64)));
}

// Formats whose header is d for each of two groups of 32 k.
template <PanelFormat kFormat>
struct PairedScales {
  static constexpr int kHalves = 1;
  static constexpr bool kHasMin = false;
  static constexpr PanelLayout kWhere = layout(kFormat);
  const std::byte* panel = nullptr;
  const std::byte* d = nullptr;
  const std::byte* p = nullptr;

  BRIO_LANE_INLINE void enter(int group) {
    d = panel + kWhere.block_offset(group) + group % 2 * 32;
    p = panel + kWhere.codes_offset(group);
  }
  BRIO_LANE_INLINE F32x16 scale(int) const { return load_f16(d); }
  BRIO_LANE_INLINE F32x16 min(int) const { return zero(); }
};

struct SourceQ4_0 : PairedScales<PanelFormat::kQ4_0> {
  static constexpr int kBits = 4;
  static constexpr int kOffset = 8;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return nibbles<kQuad>(p);
  }
};

struct SourceQ5_0 : PairedScales<PanelFormat::kQ5_0> {
  static constexpr int kBits = 5;
  static constexpr int kOffset = 16;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return merge(nibbles<kQuad>(p), bits_at<kQuad, 4>(p + 256));
  }
};

struct SourceQ8_0 : PairedScales<PanelFormat::kQ8_0> {
  static constexpr int kBits = 8;
  static constexpr int kOffset = kByteBias;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return rebias(load_line(p + kQuad * 64));
  }
};

struct SourceIQ4_NL : PairedScales<PanelFormat::kIQ4_NL> {
  static constexpr int kBits = 8;
  static constexpr int kOffset = kByteBias;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return look_up(iq4_levels(), nibbles<kQuad>(p));
  }
};

// Formats whose header is d and m for one group of 32 k.
template <PanelFormat kFormat>
struct ScaleAndMin {
  static constexpr int kOffset = 0;
  static constexpr int kHalves = 1;
  static constexpr bool kHasMin = true;
  static constexpr PanelLayout kWhere = layout(kFormat);
  const std::byte* panel = nullptr;
  const std::byte* p = nullptr;

  BRIO_LANE_INLINE void enter(int group) { p = panel + kWhere.codes_offset(group); }
  BRIO_LANE_INLINE F32x16 scale(int) const { return load_f16(p - 64); }
  BRIO_LANE_INLINE F32x16 min(int) const { return load_f16(p - 32); }
};

struct SourceQ4_1 : ScaleAndMin<PanelFormat::kQ4_1> {
  static constexpr int kBits = 4;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return nibbles<kQuad>(p);
  }
};

struct SourceQ5_1 : ScaleAndMin<PanelFormat::kQ5_1> {
  static constexpr int kBits = 5;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return merge(nibbles<kQuad>(p), bits_at<kQuad, 4>(p + 256));
  }
};

// Formats of 256 k: d (and dmin) over eight groups, each with small integers as sub-scales.
template <PanelFormat kFormat>
struct SuperBlock {
  static constexpr PanelLayout kWhere = layout(kFormat);
  const std::byte* panel = nullptr;
  const std::byte* header = nullptr;
  const std::byte* p = nullptr;
  int group = 0;  // within the super-block

  BRIO_LANE_INLINE void enter(int g) {
    header = panel + kWhere.block_offset(g);
    p = panel + kWhere.codes_offset(g);
    group = g % 8;
  }
  BRIO_LANE_INLINE F32x16 d() const { return load_f16(header); }
  BRIO_LANE_INLINE F32x16 negative_dmin() const { return negate(load_f16(header + 32)); }
};

// Q4_K and Q5_K: scale block A.
template <PanelFormat kFormat>
struct ScaleBlockA : SuperBlock<kFormat> {
  static constexpr int kOffset = 0;
  static constexpr int kHalves = 1;
  static constexpr bool kHasMin = true;
  BRIO_LANE_INLINE F32x16 scale(int) const {
    const Bytes16 packed = load_bytes(this->header + 64 + this->group * 16);
    return mul(this->d(), unsigned_to_f32(field(packed, 0, 63)));
  }
  BRIO_LANE_INLINE F32x16 min(int) const {
    const Bytes16 high = field(load_bytes(this->header + 64 + this->group * 16), 2, 48);
    const Bytes16 low = field(load_bytes(this->header + 192 + this->group / 2 * 16), this->group % 2 * 4, 15);
    return mul(this->negative_dmin(), unsigned_to_f32(merge(high, low)));
  }
};

struct SourceQ4_K : ScaleBlockA<PanelFormat::kQ4_K> {
  static constexpr int kBits = 4;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return nibbles<kQuad>(p);
  }
};

struct SourceQ5_K : ScaleBlockA<PanelFormat::kQ5_K> {
  static constexpr int kBits = 5;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return merge(nibbles<kQuad>(p), bits_at<kQuad, 4>(p + 256));
  }
};

struct SourceQ6_K : SuperBlock<PanelFormat::kQ6_K> {
  static constexpr int kBits = 6;
  static constexpr int kOffset = 32;
  static constexpr int kHalves = 2;
  static constexpr bool kHasMin = false;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return merge(nibbles<kQuad>(p), pairs_at<kQuad, 4>(p + 256));
  }
  BRIO_LANE_INLINE F32x16 scale(int half) const {
    return mul(d(), signed_to_f32(load_bytes(header + 64 + (group * 2 + half) * 16)));
  }
  BRIO_LANE_INLINE F32x16 min(int) const { return zero(); }
};

struct SourceQ2_K : SuperBlock<PanelFormat::kQ2_K> {
  static constexpr int kBits = 2;
  static constexpr int kOffset = 0;
  static constexpr int kHalves = 2;
  static constexpr bool kHasMin = true;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return pairs_at<kQuad, 0>(p);
  }
  BRIO_LANE_INLINE F32x16 scale(int half) const {
    return mul(d(), unsigned_to_f32(field(load_bytes(header + 64 + (group * 2 + half) * 16), 0, 15)));
  }
  BRIO_LANE_INLINE F32x16 min(int half) const {
    return mul(negative_dmin(), unsigned_to_f32(field(load_bytes(header + 64 + (group * 2 + half) * 16), 4, 15)));
  }
};

struct SourceQ3_K : SuperBlock<PanelFormat::kQ3_K> {
  static constexpr int kBits = 3;
  static constexpr int kOffset = 4;
  static constexpr int kHalves = 2;
  static constexpr bool kHasMin = false;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return merge(pairs_at<kQuad, 0>(p), bits_at<kQuad, 2>(p + 128));
  }
  BRIO_LANE_INLINE F32x16 scale(int half) const {
    const int i = group * 2 + half;
    const Bytes16 low = field(load_bytes(header + 64 + group * 16), half * 4, 15);
    const Bytes16 high = raise_4(field(load_bytes(header + 192 + i / 4 * 16), i % 4 * 2, 3));
    return mul(d(), add(unsigned_to_f32(merge(low, high)), broadcast(-32.0F)));
  }
  BRIO_LANE_INLINE F32x16 min(int) const { return zero(); }
};

struct SourceIQ4_XS : SuperBlock<PanelFormat::kIQ4_XS> {
  static constexpr int kBits = 8;
  static constexpr int kOffset = kByteBias;
  static constexpr int kHalves = 1;
  static constexpr bool kHasMin = false;
  template <int kQuad>
  BRIO_LANE_INLINE Line codes() const {
    return look_up(iq4_levels(), nibbles<kQuad>(p));
  }
  BRIO_LANE_INLINE F32x16 scale(int) const {
    const Bytes16 high = raise_4(field(load_bytes(header + 32 + group / 4 * 16), group % 4 * 2, 3));
    const Bytes16 low = field(load_bytes(header + 64 + group / 2 * 16), group % 2 * 4, 15);
    return mul(d(), add(unsigned_to_f32(merge(low, high)), broadcast(-32.0F)));
  }
  BRIO_LANE_INLINE F32x16 min(int) const { return zero(); }
};
