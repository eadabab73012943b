// Lines of weight codes and integer sums as arrays: kernels/lines.h says what each operation promises.

struct Line {
  uint8_t byte[64];
};
struct Bytes16 {
  uint8_t byte[16];
};
struct Ints {
  int32_t lane[16];
};
using Partial = Ints;
struct Quad {
  int8_t value[4];
};
struct Levels {
  uint8_t code[16];
};

inline constexpr int kByteBias = 128;
inline constexpr bool kWidensBytes = false;
template <int kBits>
struct Wide;
inline constexpr int kTileRows = 1;
inline constexpr int kStreams = 1;
inline constexpr int kStretchRows = 1;
inline constexpr int kStretchPanels = 1;
inline constexpr int kReadAhead = 1024;
inline constexpr int kReadAheadOfStream = 1024;
inline constexpr int kL2Bytes = 512 * 1024;
inline constexpr int kPanelsAtOnce = 2;
inline constexpr int kFloatTileRows = 1;
template <int kBits>
inline constexpr int kSpan = 8;

#define BRIO_EACH(type, member, count, expression)              \
  type out;                                                     \
  for (int i = 0; i < (count); ++i) out.member[i] = expression; \
  return out

BRIO_LANE_INLINE Line load_line(const void* p) {
  Line out;
  std::memcpy(out.byte, p, sizeof(out.byte));
  return out;
}
BRIO_LANE_INLINE void store_line(void* p, Line v) {
  std::memcpy(p, v.byte, sizeof(v.byte));
}
template <int kShift>
BRIO_LANE_INLINE Line shift_left(Line v) {
  BRIO_EACH(Line, byte, 64, static_cast<uint8_t>(v.byte[i] << kShift));
}
template <int kShift>
BRIO_LANE_INLINE Line shift_right(Line v) {
  BRIO_EACH(Line, byte, 64, static_cast<uint8_t>(v.byte[i] >> kShift));
}
template <int kMask>
BRIO_LANE_INLINE Line mask_bytes(Line v) {
  BRIO_EACH(Line, byte, 64, static_cast<uint8_t>(v.byte[i] & kMask));
}
BRIO_LANE_INLINE Line merge(Line a, Line b) {
  BRIO_EACH(Line, byte, 64, static_cast<uint8_t>(a.byte[i] | b.byte[i]));
}
BRIO_LANE_INLINE Line rebias(Line v) {
  return v;
}
BRIO_LANE_INLINE Levels iq4_levels() {
  BRIO_EACH(Levels, code, 16, static_cast<uint8_t>(kIq4Levels[i] + kByteBias));
}
BRIO_LANE_INLINE Line look_up(Levels levels, Line v) {
  BRIO_EACH(Line, byte, 64, levels.code[v.byte[i]]);
}

BRIO_LANE_INLINE Bytes16 load_bytes(const void* p) {
  Bytes16 out;
  std::memcpy(out.byte, p, sizeof(out.byte));
  return out;
}
BRIO_LANE_INLINE Bytes16 field(Bytes16 v, int shift, int mask) {
  BRIO_EACH(Bytes16, byte, 16, static_cast<uint8_t>(v.byte[i] >> shift & mask));
}
BRIO_LANE_INLINE Bytes16 raise_4(Bytes16 v) {
  BRIO_EACH(Bytes16, byte, 16, static_cast<uint8_t>(v.byte[i] << 4));
}
BRIO_LANE_INLINE Bytes16 merge(Bytes16 a, Bytes16 b) {
  BRIO_EACH(Bytes16, byte, 16, static_cast<uint8_t>(a.byte[i] | b.byte[i]));
}
BRIO_LANE_INLINE F32x16 unsigned_to_f32(Bytes16 v) {
  BRIO_EACH(F32x16, lane, 16, static_cast<float>(v.byte[i]));
}
BRIO_LANE_INLINE F32x16 signed_to_f32(Bytes16 v) {
  BRIO_EACH(F32x16, lane, 16, static_cast<float>(static_cast<int8_t>(v.byte[i])));
}
BRIO_LANE_INLINE F32x16 load_f16(const void* p) {
  uint16_t half[16];
  std::memcpy(half, p, sizeof(half));
  BRIO_EACH(F32x16, lane, 16, f16_to_f32(half[i]));
}

BRIO_LANE_INLINE Ints no_ints() {
  BRIO_EACH(Ints, lane, 16, 0);
}
BRIO_LANE_INLINE Ints weighted_pair(const int16_t* sums, int low, int high) {
  BRIO_EACH(Ints, lane, 16, sums[0] * low + sums[1] * high);
}
BRIO_LANE_INLINE Ints broadcast_int(int32_t x) {
  BRIO_EACH(Ints, lane, 16, x);
}
BRIO_LANE_INLINE F32x16 to_f32(Ints v) {
  BRIO_EACH(F32x16, lane, 16, static_cast<float>(v.lane[i]));
}

inline constexpr bool kHasStretchSums = false;
void store_stretch_sums(const int16_t* sums, int factor, int32_t* out);
void store_stretch_sums(const int16_t* sums, const float* scales, float* out);

BRIO_LANE_INLINE Quad broadcast_quad(const int8_t* x) {
  BRIO_EACH(Quad, value, 4, x[i]);
}
BRIO_LANE_INLINE Partial open(Ints total) {
  return total;
}
template <int kBits>
BRIO_LANE_INLINE Partial multiply_add(Partial sum, Line w, Quad x) {
  for (int i = 0; i < 64; ++i) sum.lane[i / 4] += w.byte[i] * x.value[i % 4];
  return sum;
}
BRIO_LANE_INLINE Ints close(Partial sum, Ints) {
  return sum;
}
#undef BRIO_EACH

BRIO_LANE_INLINE uint32_t largest_magnitude(F32x16 a, F32x16 b) {
  uint32_t largest = 0;
  for (int i = 0; i < 16; ++i) {
    const uint32_t x = bits_of(a.lane[i]) & 0x7fffffffU;
    const uint32_t y = bits_of(b.lane[i]) & 0x7fffffffU;
    largest = x > largest ? x : largest;
    largest = y > largest ? y : largest;
  }
  return largest;
}
BRIO_LANE_INLINE int store_rounded(int8_t* out, F32x16 v) {
  constexpr float kShift = 0x1.8p23F;  // adding it leaves the nearest integer, ties to even, in the low bits
  int sum = 0;
  for (int i = 0; i < 16; ++i) {
    const float shifted = v.lane[i] + kShift;
    out[i] = static_cast<int8_t>(static_cast<int32_t>(bits_of(shifted) - bits_of(kShift)));
    sum += out[i];
  }
  return sum;
}
BRIO_LANE_INLINE void store_high_halves(uint16_t* out, F32x16 v) {
  for (int i = 0; i < 16; ++i) out[i] = static_cast<uint16_t>(bits_of(v.lane[i]) >> 16);
}
