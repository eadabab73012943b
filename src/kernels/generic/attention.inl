// Attention on the virtual vector and the register tile; kernels/attention.h states layout, order and masks.

// The tokens that some query sees, and whether all see the same.
struct Seen {
  int begin, end;          // union
  int all_begin, all_end;  // intersection; empty if all_begin >= all_end
};

inline Seen seen_by(const AttentionQueries& queries) {
  Seen seen = {queries.begin[0], queries.end[0], queries.begin[0], queries.end[0]};
  for (int m = 1; m < queries.count; ++m) {
    seen.begin = queries.begin[m] < seen.begin ? queries.begin[m] : seen.begin;
    seen.end = queries.end[m] > seen.end ? queries.end[m] : seen.end;
    seen.all_begin = queries.begin[m] > seen.all_begin ? queries.begin[m] : seen.all_begin;
    seen.all_end = queries.end[m] < seen.all_end ? queries.end[m] : seen.all_end;
  }
  return seen;
}

// q [M][kQueryStride] = the rounded, scaled queries.
template <class Element, int M>
inline void pack_queries(const AttentionQueries& queries, const AttentionParameters& parameters, float* q) {
  const F32x16 scale = broadcast(parameters.scale);
  for (int m = 0; m < M; ++m) {
    for (int d = 0; d < parameters.head_dim; d += 16) {
      const int lanes = parameters.head_dim - d < 16 ? parameters.head_dim - d : 16;
      const F32x16 v = lanes == 16 ? load(queries.q[m] + d) : load_first(queries.q[m] + d, lanes);
      store(q + m * kQueryStride + d, Element::rounded(mul(v, scale)));
    }
  }
}

// One row's 16 scores of tokens t .. t + 15, capped and masked, into scores.
BRIO_LANE_INLINE void store_scores(F32x16 acc, int t, int begin, int end, float softcap, float* scores) {
  if (softcap > 0.0F) acc = mul(broadcast(softcap), tanh(div(acc, broadcast(softcap))));
  if (begin > t || end < t + 16) {
    const int first = begin < t ? 0 : begin > t + 16 ? 16 : begin - t;
    const int last = end < t ? 0 : end > t + 16 ? 16 : end - t;
    acc = select(lanes_between(first, last), acc, broadcast(-__builtin_inff()));
  }
  store(scores + t, acc);
}

// The scores of 16 N tokens from t, fetching this tile's values.
template <class Element, int M, int N, bool kPrefetch>
BRIO_LANE_INLINE void score_tokens(const float* q, const AttentionQueries& queries, const AttentionSplit& split,
                                   const AttentionParameters& parameters, int t, float* scores) {
  const int words = parameters.head_dim / Element::kPerWord;
  const int tile = t / kTileTokens;
  const int half = t % kTileTokens / 16;
  const auto* k = reinterpret_cast<const typename Element::Word*>(split.k[tile]) + 16 * half;
  F32x16 acc[M][N];
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) acc[m][n] = zero();
  }
  accumulate<M, N, kQueryStride, kPrefetch>(q, k, kTileTokens, words, 16, split.v[tile] + 64 * half * words, acc);
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      store_scores(acc[m][n], t + 16 * n, queries.begin[m], queries.end[m], parameters.softcap,
                   scores + m * kScoreStride);
    }
  }
}

// Vectors of 16 that M rows take at once: two where one would leave the fma units waiting for their own results (4
// cycles x 2 a cycle = 8 chains; a vector is two on AVX2).
template <int M>
inline constexpr int kVectors = M <= 2 ? 2 : 1;

// scores [M][kScoreStride]: of every token in the groups of 16 that hold seen tokens; -inf where row m may not look.
template <class Element, int M, bool kPrefetch>
inline void score(const float* q, const AttentionQueries& queries, const AttentionSplit& split,
                  const AttentionParameters& parameters, const Seen& seen, float* scores) {
  for (int t = seen.begin / 16 * 16; t < seen.end;) {
    if (kVectors<M> == 2 && t % kTileTokens == 0 && t + 16 < seen.end) {
      score_tokens<Element, M, kVectors<M>, kPrefetch>(q, queries, split, parameters, t, scores);
      t += 16 * kVectors<M>;
    } else {
      score_tokens<Element, M, 1, kPrefetch>(q, queries, split, parameters, t, scores);
      t += 16;
    }
  }
}

// Turns one row of scores into probabilities (rounded as the values want them) and returns their max and sum. A NaN
// score makes the sum NaN, and with it every channel, whatever its own probability is rounded to.
template <class Element>
inline void soften(float* scores, const Seen& seen, float& max, float& total) {
  const int first = seen.begin / 16 * 16;
  F32x16 most = load(scores + first);
  for (int t = first + 16; t < seen.end; t += 16) most = maximum(most, load(scores + t));
  max = maximum_lane(most);
  const F32x16 shift = broadcast(max);
  F32x16 sums = zero();
  for (int t = first; t < seen.end; t += 16) {
    const F32x16 p = exp_not_positive(sub(load(scores + t), shift));
    sums = add(sums, p);
    store(scores + t, Element::rounded_probability(p));
  }
  total = sum(sums);
}

// Whether any value word with a token outside the intersection of the queries' ranges is NaN or infinite.
template <class Element>
inline bool values_are_finite(const AttentionSplit& split, const Seen& seen, int head_dim) {
  using Word = typename Element::Word;
  F32x16 zeros = zero();  // 0 * x summed: NaN if some x is not finite
  for (int t = seen.begin / Element::kPerWord * Element::kPerWord; t < seen.end; t += Element::kPerWord) {
    if (t >= seen.all_begin && t + Element::kPerWord <= seen.all_end) {
      t = seen.all_end / Element::kPerWord * Element::kPerWord - Element::kPerWord;
      continue;
    }
    const Word* row = reinterpret_cast<const Word*>(split.v[t / kTileTokens]) +
                      ptrdiff_t{t % kTileTokens / Element::kPerWord} * head_dim;
    for (int d = 0; d < head_dim; d += 16) {
      const int lanes = head_dim - d < 16 ? head_dim - d : 16;
      if constexpr (Element::kPerWord == 2) {
        const U32x16 u = lanes == 16 ? load_pairs(row + d) : load_pairs_first(row + d, lanes);
        zeros = fma(odd(u), zero(), fma(even(u), zero(), zeros));
      } else {
        zeros = fma(lanes == 16 ? load(row + d) : load_first(row + d, lanes), zero(), zeros);
      }
    }
  }
  const float total = sum(zeros);
  return total == total;
}

// A run of value words with consecutive tokens.
template <class Word>
struct ValueRun {
  const Word* words;  // [count][head_dim]
  int token;          // of the split, of the first word
  int count;
};

template <class Word>
struct ValueRuns {
  ValueRun<Word> run[kSplitTiles + 2];
  int count = 0;
};

inline void list_runs(const AttentionSplit& split, const Seen& seen, int head_dim, float* /*edges*/,
                      ValueRuns<float>& runs) {
  (void)head_dim;
  for (int t = seen.begin; t < seen.end;) {
    const int tile_end = (t / kTileTokens + 1) * kTileTokens;
    const int end = tile_end < seen.end ? tile_end : seen.end;
    const float* tile = reinterpret_cast<const float*>(split.v[t / kTileTokens]);
    runs.run[runs.count++] = {tile + ptrdiff_t{t % kTileTokens} * head_dim, t, end - t};
    t = end;
  }
}

// The same for pairs; a pair of which only one token is seen is copied to `edges` [2][kMaxHeadDim] without the other.
inline void list_runs(const AttentionSplit& split, const Seen& seen, int head_dim, uint32_t* edges,
                      ValueRuns<uint32_t>& runs) {
  for (int t = seen.begin / 2 * 2; t < seen.end;) {
    const int tile_end = (t / kTileTokens + 1) * kTileTokens;
    const uint32_t* tile = reinterpret_cast<const uint32_t*>(split.v[t / kTileTokens]);
    const uint32_t* words = tile + ptrdiff_t{t % kTileTokens / 2} * head_dim;
    if (t < seen.begin || t + 1 == seen.end) {
      const uint32_t keep = t < seen.begin ? 0xffff0000U : 0x0000ffffU;
      for (int d = 0; d < head_dim; ++d) edges[d] = words[d] & keep;
      runs.run[runs.count++] = {edges, t, 1};
      edges += kMaxHeadDim;
      t += 2;
      continue;
    }
    const int end = tile_end < seen.end ? tile_end : seen.end / 2 * 2;
    runs.run[runs.count++] = {words, t, (end - t) / 2};
    t = end;
  }
}

// How splits enter the states, lane m for query m: out = out * keep + split * take, or a copy where the split is the
// first.
struct MergeFactors {
  float keep[16] = {};
  float take[16] = {};
  bool first[16] = {};
};

// Merges max and sum of `count` splits into the states and returns what their outputs need.
inline MergeFactors merge_sums(AttentionState* const* states, int count, const float* max, const float* total) {
  MergeFactors factors;
  float sums[16] = {};
  float added[16] = {};
  for (int m = 0; m < count; ++m) {
    AttentionState& state = *states[m];
    factors.first[m] = state.sum == 0.0F;
    sums[m] = state.sum;
    added[m] = total[m];
    const float top = factors.first[m] || !(state.max > max[m]) ? max[m] : state.max;
    factors.keep[m] = (factors.first[m] ? top : state.max) - top;
    factors.take[m] = max[m] - top;
    state.max = top;
  }
  const F32x16 keep = exp(load(factors.keep));
  const F32x16 take = exp(load(factors.take));
  store(factors.keep, keep);
  store(factors.take, take);
  store(sums, fma(load(sums), keep, mul(load(added), take)));
  for (int m = 0; m < count; ++m) states[m]->sum = factors.first[m] ? total[m] : sums[m];
  return factors;
}

// out[d ..] of one query, given 16 (or the first `lanes`) channels of a split.
BRIO_LANE_INLINE void merge_channels(float* out, F32x16 split, const MergeFactors& factors, int m, int lanes) {
  if (!factors.first[m]) {
    const F32x16 before = lanes == 16 ? load(out) : load_first(out, lanes);
    split = fma(before, broadcast(factors.keep[m]), mul(split, broadcast(factors.take[m])));
  }
  if (lanes == 16) {
    store(out, split);
  } else {
    store_first(out, split, lanes);
  }
}

// Channels d .. of the outputs: 16 N, or the first `lanes` of 16. Fetches the next split's keys.
template <class Element, int M, int N, bool kPrefetch>
BRIO_LANE_INLINE void weigh_channels(const float* p, const ValueRuns<typename Element::Word>& runs,
                                     const AttentionSplit& split, int head_dim, int d, int lanes,
                                     const MergeFactors& factors, AttentionState* const* states) {
  F32x16 acc[M][N];
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) acc[m][n] = zero();
  }
  for (int i = 0; i < runs.count; ++i) {
    const auto& run = runs.run[i];
    const std::byte* ahead = nullptr;
    if constexpr (kPrefetch) {
      const int first = run.token % kTileTokens / Element::kPerWord;
      ahead = split.next_k[run.token / kTileTokens] + 64 * (d / 16 * (kTileTokens / Element::kPerWord) + N * first);
    }
    accumulate<M, N, kScoreStride, kPrefetch>(p + run.token, run.words + d, head_dim, run.count, lanes, ahead, acc);
  }
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) merge_channels(states[m]->out + d + 16 * n, acc[m][n], factors, m, lanes);
  }
}

// Weighs the values by p [M][kScoreStride] and merges the split into the states.
template <class Element, int M, bool kPrefetch>
inline void weigh(const float* p, const ValueRuns<typename Element::Word>& runs, const AttentionSplit& split,
                  int head_dim, const MergeFactors& factors, AttentionState* const* states) {
  int d = 0;
  for (; d + 16 * kVectors<M> <= head_dim; d += 16 * kVectors<M>) {
    weigh_channels<Element, M, kVectors<M>, kPrefetch>(p, runs, split, head_dim, d, 16, factors, states);
  }
  for (; d + 16 <= head_dim; d += 16) {
    weigh_channels<Element, M, 1, kPrefetch>(p, runs, split, head_dim, d, 16, factors, states);
  }
  if (d < head_dim) {
    weigh_channels<Element, M, 1, false>(p, runs, split, head_dim, d, head_dim - d, factors, states);
  }
}

template <class Element, int M>
void attend_rows(const AttentionQueries& queries, const AttentionSplit& split, const AttentionParameters& parameters) {
  const Seen seen = seen_by(queries);
  const bool alike = seen.begin == seen.all_begin && seen.end == seen.all_end;
  if constexpr (M > 1) {
    if (!alike && !values_are_finite<Element>(split, seen, parameters.head_dim)) {
      for (int m = 0; m < M; ++m) {
        const AttentionQueries one = {1, {queries.q[m]}, {queries.begin[m]}, {queries.end[m]}, {queries.state[m]}};
        attend_rows<Element, 1>(one, split, parameters);
      }
      return;
    }
  }
  alignas(64) float q[M * kQueryStride];
  alignas(64) float p[M * kScoreStride];
  alignas(64) typename Element::Word edges[2 * kMaxHeadDim];
  float max[M];
  float total[M];
  pack_queries<Element, M>(queries, parameters, q);
  if (parameters.prefetch) {
    score<Element, M, true>(q, queries, split, parameters, seen, p);
  } else {
    score<Element, M, false>(q, queries, split, parameters, seen, p);
  }
  for (int m = 0; m < M; ++m) soften<Element>(p + m * kScoreStride, seen, max[m], total[m]);
  ValueRuns<typename Element::Word> runs;
  list_runs(split, seen, parameters.head_dim, edges, runs);
  const MergeFactors factors = merge_sums(queries.state, M, max, total);
  if (parameters.prefetch && split.next_k[0] != nullptr) {
    weigh<Element, M, true>(p, runs, split, parameters.head_dim, factors, queries.state);
  } else {
    weigh<Element, M, false>(p, runs, split, parameters.head_dim, factors, queries.state);
  }
}

template <class Element>
void attend(const AttentionQueries& queries, const AttentionSplit& split, const AttentionParameters& parameters) {
  switch (queries.count) {
    case 1:
      return attend_rows<Element, 1>(queries, split, parameters);
    case 2:
      return attend_rows<Element, 2>(queries, split, parameters);
    case 3:
      return attend_rows<Element, 3>(queries, split, parameters);
    case 4:
      return attend_rows<Element, 4>(queries, split, parameters);
    case 5:
      return attend_rows<Element, 5>(queries, split, parameters);
    case 6:
      return attend_rows<Element, 6>(queries, split, parameters);
    default:
      return;
  }
}

inline void merge(AttentionState& state, const AttentionState& split, int head_dim) {
  AttentionState* const states[1] = {&state};
  const MergeFactors factors = merge_sums(states, 1, &split.max, &split.sum);
  for (int d = 0; d < head_dim; d += 16) {
    const int lanes = head_dim - d < 16 ? head_dim - d : 16;
    merge_channels(state.out + d, lanes == 16 ? load(split.out + d) : load_first(split.out + d, lanes), factors, 0,
                   lanes);
  }
}

inline void finish(const AttentionState& state, int head_dim, float* out) {
  const F32x16 total = broadcast(state.sum);
  int d = 0;
  for (; d + 16 <= head_dim; d += 16) store(out + d, div(add(load(state.out + d), zero()), total));
  const int rest = head_dim - d;
  if (rest > 0) store_first(out + d, div(add(load_first(state.out + d, rest), zero()), total), rest);
}

// x [head_dim] as bf16 in the upper halves of words [head_dim, to a multiple of 16].
inline void round_words(const float* x, int head_dim, uint32_t* words) {
  for (int d = 0; d < head_dim; d += 16) {
    const int lanes = head_dim - d < 16 ? head_dim - d : 16;
    float rounded[16];
    store(rounded, round_bf16(lanes == 16 ? load(x + d) : load_first(x + d, lanes)));
    std::memcpy(words + d, rounded, sizeof(rounded));
  }
}

inline void store_key_bf16(const float* x, int head_dim, int token, std::byte* tile) {
  uint32_t words[kMaxHeadDim];
  round_words(x, head_dim, words);
  uint32_t* out = reinterpret_cast<uint32_t*>(tile) + token;
  for (int d = 0; d < head_dim; d += 2) out[d / 2 * kTileTokens] = words[d] >> 16 | words[d + 1];
}

inline void store_value_bf16(const float* x, int head_dim, int token, std::byte* tile) {
  uint32_t words[kMaxHeadDim];
  round_words(x, head_dim, words);
  uint16_t* out = reinterpret_cast<uint16_t*>(tile) + ptrdiff_t{token / 2} * head_dim * 2 + token % 2;
  for (int d = 0; d < head_dim; ++d) out[2 * d] = static_cast<uint16_t>(words[d] >> 16);
}

inline void store_key_f32(const float* x, int head_dim, int token, std::byte* tile) {
  float* out = reinterpret_cast<float*>(tile) + token;
  for (int d = 0; d < head_dim; ++d) out[d * kTileTokens] = x[d];
}

inline void store_value_f32(const float* x, int head_dim, int token, std::byte* tile) {
  std::memcpy(tile + ptrdiff_t{token} * head_dim * 4, x, static_cast<size_t>(head_dim) * 4);
}
