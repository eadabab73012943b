// Attention over int8 tiles on quads (kernels/quads.h); kernels/attention.h states layout, order and masks.

// Quads between the rows of factors in scratch, 64 bytes off a power of two.
inline constexpr int kQueryQuads = kMaxHeadDim / 4 + 8;
inline constexpr int kTokenQuads = kSplitTokens / 4 + 8;

// Below this 1 / scale would overflow or scale be subnormal (as kSmallestAmax in quantize_rows.h).
inline constexpr float kSmallestStep = 0x1p-110F;

// How floats become integers: rint(x * inverse); what an integer stands for is integer * scale.
struct Step {
  float inverse;
  float scale;
};

// Of values whose largest magnitude is in `most`; `zeros` sums 0 * x over them: NaN where one is NaN or infinite, and then
// the integers are 0 and the scale is NaN.
BRIO_LANE_INLINE Step step_of(F32x16 most, F32x16 zeros, float largest_integer) {
  const float total = sum(zeros);
  const float amax = maximum_lane(most);
  if (total != total) return {0.0F, __builtin_nanf("")};
  if (amax < kSmallestStep) return {0.0F, 0.0F};
  return {largest_integer / amax, amax / largest_integer};
}

// x * inverse; 0 even of a NaN when inverse is 0.
BRIO_LANE_INLINE F32x16 in_steps(F32x16 x, Step step) {
  return step.inverse == 0.0F ? zero() : mul(x, broadcast(step.inverse));
}

BRIO_LANE_INLINE F32x16 load_channels(const float* x, int d, int head_dim) {
  return head_dim - d >= 16 ? load(x + d) : load_first(x + d, head_dim - d);
}

inline const float* scales_of(const std::byte* tile, int head_dim) {
  return reinterpret_cast<const float*>(tile + int8_scales_offset(head_dim));
}

// What M queries' integers are in a split: factors times codes + start are the integer sums, scale their unit.
template <int M, int Stride>
struct Integers {
  alignas(64) Factors factors[M * Stride];
  float scale[M];
  int32_t start[M];
};

template <int M>
inline void quantise_queries(const AttentionQueries& queries, const AttentionParameters& parameters,
                             Integers<M, kQueryQuads>& out) {
  const int head_dim = parameters.head_dim;
  const F32x16 scale = broadcast(parameters.scale);
  for (int m = 0; m < M; ++m) {
    F32x16 most = zero();
    F32x16 zeros = zero();
    for (int d = 0; d < head_dim; d += 16) {
      const F32x16 v = mul(load_channels(queries.q[m], d, head_dim), scale);
      most = maximum(most, absolute(v));
      zeros = fma(v, zero(), zeros);
    }
    const Step step = step_of(most, zeros, kLargestFactor);
    Ints total = no_ints();
    for (int d = 0; d < head_dim; d += 16) {
      const F32x16 v = mul(load_channels(queries.q[m], d, head_dim), scale);
      total = add(total, store_factors(out.factors + m * kQueryQuads + d / 4, in_steps(v, step)));
    }
    out.scale[m] = step.scale;
    out.start[m] = -kCodeBias * sum(total);
  }
}

// The scores of 16 N tokens from t, fetching this tile's values.
template <int M, int N, bool kPrefetch>
BRIO_LANE_INLINE void score_quads(const Integers<M, kQueryQuads>& q, const AttentionQueries& queries,
                                  const AttentionSplit& split, const AttentionParameters& parameters, int t,
                                  float* scores) {
  const int quads = (parameters.head_dim + 3) / 4;
  const int tile = t / kTileTokens;
  const int first = t % kTileTokens;
  const auto* words = reinterpret_cast<const uint32_t*>(split.k[tile]) + first;
  const float* scales = scales_of(split.k[tile], parameters.head_dim) + first;
  QuadSum acc[M][N];
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) acc[m][n] = no_quads();
  }
  if constexpr (kPrefetch) prefetch(scales_of(split.v[tile], parameters.head_dim) + first);
  multiply_quads<M, N, kQueryQuads, kPrefetch>(q.factors, words, kTileTokens, quads, 16,
                                               split.v[tile] + ptrdiff_t{64} * (first / 16) * quads, acc);
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      const F32x16 unit = mul(to_f32(acc[m][n], q.start[m]), load(scales + 16 * n));
      store_scores(mul(unit, broadcast(q.scale[m])), t + 16 * n, queries.begin[m], queries.end[m], parameters.softcap,
                   scores + m * kScoreStride);
    }
  }
}

template <int M, bool kPrefetch>
inline void score_int8(const Integers<M, kQueryQuads>& q, const AttentionQueries& queries, const AttentionSplit& split,
                       const AttentionParameters& parameters, const Seen& seen, float* scores) {
  for (int t = seen.begin / 16 * 16; t < seen.end;) {
    if (kQuadVectors<M> == 2 && t % kTileTokens == 0 && t + 16 < seen.end) {
      score_quads<M, kQuadVectors<M>, kPrefetch>(q, queries, split, parameters, t, scores);
      t += 16 * kQuadVectors<M>;
    } else {
      score_quads<M, 1, kPrefetch>(q, queries, split, parameters, t, scores);
      t += 16;
    }
  }
}

// Turns one row of scores into probabilities times their values' scales, as integers. Tokens outside [begin, end) weigh
// exactly 0, whatever their scales; the others' scales decide the integers' unit, so that it is the row's own.
inline void soften_int8(float* scores, const AttentionSplit& split, const Seen& seen, int begin, int end, int head_dim,
                        float& max, float& total, Factors* factors, float& scale, int32_t& start) {
  const int first = seen.begin / 16 * 16;
  F32x16 most = load(scores + first);
  for (int t = first + 16; t < seen.end; t += 16) most = maximum(most, load(scores + t));
  max = maximum_lane(most);
  const F32x16 shift = broadcast(max);
  F32x16 sums = zero();
  F32x16 zeros = zero();
  F32x16 heaviest = zero();
  for (int t = first; t < seen.end; t += 16) {
    const F32x16 p = exp_not_positive(sub(load(scores + t), shift));
    sums = add(sums, p);
    F32x16 unit = load(scales_of(split.v[t / kTileTokens], head_dim) + t % kTileTokens);
    if (begin > t || end < t + 16) {
      const int from = begin < t ? 0 : begin > t + 16 ? 16 : begin - t;
      const int to = end < t ? 0 : end > t + 16 ? 16 : end - t;
      unit = select(lanes_between(from, to), unit, zero());
    }
    const F32x16 weight = mul(p, unit);
    zeros = fma(weight, zero(), zeros);
    heaviest = maximum(heaviest, weight);
    store(scores + t, weight);
  }
  total = sum(sums);
  const Step step = step_of(heaviest, zeros, kLargestFactor);
  Ints integers = no_ints();
  for (int t = first; t < seen.end; t += 16) {
    integers = add(integers, store_factors(factors + t / 4, in_steps(load(scores + t), step)));
  }
  scale = step.scale;
  start = -kCodeBias * sum(integers);
}

// Channels d .. of the outputs: 16 N, or the first `lanes` of 16. Fetches the next split's keys.
template <int M, int N, bool kPrefetch>
BRIO_LANE_INLINE void weigh_quads(const Integers<M, kTokenQuads>& p, const AttentionSplit& split, const Seen& seen,
                                  int head_dim, int d, int lanes, const MergeFactors& factors,
                                  AttentionState* const* states) {
  constexpr int kTileQuads = kTileTokens / 4;
  QuadSum acc[M][N];
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) acc[m][n] = no_quads();
  }
  for (int t = seen.begin / 4 * 4; t < seen.end;) {
    const int tile = t / kTileTokens;
    const int tile_end = (tile + 1) * kTileTokens < seen.end ? (tile + 1) * kTileTokens : seen.end;
    const int quad = t % kTileTokens / 4;
    const int count = (tile_end - t + 3) / 4;
    const auto* words = reinterpret_cast<const uint32_t*>(split.v[tile]) + ptrdiff_t{quad} * head_dim + d;
    const std::byte* ahead = nullptr;
    if constexpr (kPrefetch) ahead = split.next_k[tile] + ptrdiff_t{64} * (d / 16 * kTileQuads + N * quad);
    multiply_quads<M, N, kTokenQuads, kPrefetch>(p.factors + t / 4, words, head_dim, count, lanes, ahead, acc);
    t = tile_end;
  }
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      const F32x16 out = mul(to_f32(acc[m][n], p.start[m]), broadcast(p.scale[m]));
      merge_channels(states[m]->out + d + 16 * n, out, factors, m, lanes);
    }
  }
}

template <int M, bool kPrefetch>
inline void weigh_int8(const Integers<M, kTokenQuads>& p, const AttentionSplit& split, const Seen& seen, int head_dim,
                       const MergeFactors& factors, AttentionState* const* states) {
  int d = 0;
  for (; d + 16 * kQuadVectors<M> <= head_dim; d += 16 * kQuadVectors<M>) {
    weigh_quads<M, kQuadVectors<M>, kPrefetch>(p, split, seen, head_dim, d, 16, factors, states);
  }
  for (; d + 16 <= head_dim; d += 16) {
    weigh_quads<M, 1, kPrefetch>(p, split, seen, head_dim, d, 16, factors, states);
  }
  if (d < head_dim) weigh_quads<M, 1, false>(p, split, seen, head_dim, d, head_dim - d, factors, states);
}

// The keys' scales of the next split lie behind their codes, which weigh_quads fetches.
inline void fetch_next_scales(const AttentionSplit& split, const Seen& seen, int head_dim) {
  for (int tile = seen.begin / kTileTokens; tile * kTileTokens < seen.end; ++tile) {
    const float* scales = scales_of(split.next_k[tile], head_dim);
    prefetch(scales);
    prefetch(scales + 16);
  }
}

template <int M>
void attend_int8_rows(const AttentionQueries& queries, const AttentionSplit& split,
                      const AttentionParameters& parameters) {
  const Seen seen = seen_by(queries);
  Integers<M, kQueryQuads> q;
  Integers<M, kTokenQuads> p;
  alignas(64) float scores[M * kScoreStride];
  float max[M];
  float total[M];
  quantise_queries<M>(queries, parameters, q);
  if (parameters.prefetch) {
    score_int8<M, true>(q, queries, split, parameters, seen, scores);
  } else {
    score_int8<M, false>(q, queries, split, parameters, seen, scores);
  }
  for (int m = 0; m < M; ++m) {
    soften_int8(scores + m * kScoreStride, split, seen, queries.begin[m], queries.end[m], parameters.head_dim, max[m],
                total[m], p.factors + m * kTokenQuads, p.scale[m], p.start[m]);
  }
  const MergeFactors factors = merge_sums(queries.state, M, max, total);
  if (parameters.prefetch && split.next_k[0] != nullptr) {
    fetch_next_scales(split, seen, parameters.head_dim);
    weigh_int8<M, true>(p, split, seen, parameters.head_dim, factors, queries.state);
  } else {
    weigh_int8<M, false>(p, split, seen, parameters.head_dim, factors, queries.state);
  }
}

template <int M = 1>
void attend_int8(const AttentionQueries& queries, const AttentionSplit& split, const AttentionParameters& parameters) {
  if (queries.count == M) return attend_int8_rows<M>(queries, split, parameters);
  if constexpr (M < kAttentionRows) attend_int8<M + 1>(queries, split, parameters);
}

// x [head_dim] as integers [head_dim, to a multiple of 16: with 0]; returns their unit.
inline float quantise_channels(const float* x, int head_dim, int32_t* integers) {
  F32x16 most = zero();
  F32x16 zeros = zero();
  for (int d = 0; d < head_dim; d += 16) {
    const F32x16 v = load_channels(x, d, head_dim);
    most = maximum(most, absolute(v));
    zeros = fma(v, zero(), zeros);
  }
  const Step step = step_of(most, zeros, kLargestInteger);
  for (int d = 0; d < head_dim; d += 16) store_ints(integers + d, in_steps(load_channels(x, d, head_dim), step));
  return step.scale;
}

inline void store_key_int8(const float* x, int head_dim, int token, std::byte* tile) {
  int32_t integers[kMaxHeadDim];
  reinterpret_cast<float*>(tile + int8_scales_offset(head_dim))[token] = quantise_channels(x, head_dim, integers);
  uint8_t* out = reinterpret_cast<uint8_t*>(tile) + ptrdiff_t{4} * token;
  for (int d = 0; d < head_dim; d += 4) {
    for (int i = 0; i < 4; ++i) out[d * kTileTokens + i] = static_cast<uint8_t>(integers[d + i] + kCodeBias);
  }
}

inline void store_value_int8(const float* x, int head_dim, int token, std::byte* tile) {
  int32_t integers[kMaxHeadDim];
  reinterpret_cast<float*>(tile + int8_scales_offset(head_dim))[token] = quantise_channels(x, head_dim, integers);
  uint8_t* out = reinterpret_cast<uint8_t*>(tile) + ptrdiff_t{token / 4} * head_dim * 4 + token % 4;
  for (int d = 0; d < head_dim; ++d) out[4 * d] = static_cast<uint8_t>(integers[d] + kCodeBias);
}
