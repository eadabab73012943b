// Attention of one KV head on one thread: decode (a group of queries, one position, a long context) in GB/s of keys and
// values, prefill (512 positions) in GMAC/s, beside two roofs measured in the same run: a read of the same memory, and
// fp32 fma from registers. CPU time, median of rounds that take turns.
//
//   attention_bench [ISA]
#include "kernels/attention.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "kernels/row.h"

namespace brio::kernels {
namespace {

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Cache {
  int head_dim;
  int num_tokens;
  size_t tile_bytes;
  AlignedBuffer memory;

  Cache(const AttentionKernels& kernels, int dim, int tokens)
      : head_dim(dim), num_tokens(tokens), tile_bytes(static_cast<size_t>(kTileTokens) * dim * 2) {
    memory = std::move(AlignedBuffer::create(2 * tile_bytes * (tokens / kTileTokens))).value();
    Rng rng(1);
    std::vector<float> x(dim);
    for (int t = 0; t < tokens; ++t) {
      for (float& v : x) v = rng.uniform(-1, 1);
      kernels.store_key[0](x.data(), dim, t % kTileTokens, memory.data() + 2 * (t / kTileTokens) * tile_bytes);
      kernels.store_value[0](x.data(), dim, t % kTileTokens, memory.data() + (2 * (t / kTileTokens) + 1) * tile_bytes);
    }
  }

  AttentionSplit split(int index) const {
    AttentionSplit split;
    for (int i = 0; i < kSplitTiles; ++i) {
      split.k[i] = memory.data() + 2 * (index * kSplitTiles + i) * tile_bytes;
      split.v[i] = split.k[i] + tile_bytes;
      if ((index + 2) * kSplitTokens <= num_tokens) split.next_k[i] = split.k[i] + 2 * kSplitTiles * tile_bytes;
    }
    return split;
  }
};

// Positions begin .. end - 1, `group` heads each, causal; six queries at a time.
void attend(const AttentionKernels& kernels, const Cache& cache, const std::vector<float>& q, int begin, int end,
            int group) {
  static std::vector<float> outs;
  static std::vector<AttentionState> states;
  const int count = (end - begin) * group;
  outs.resize(static_cast<size_t>(count) * cache.head_dim);
  states.resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) states[i] = {0, 0, &outs[static_cast<size_t>(i) * cache.head_dim]};
  for (int s = 0; s * kSplitTokens < end; ++s) {
    AttentionParameters parameters = {cache.head_dim, 0.1F, 0.0F, true};
    const AttentionSplit split = cache.split(s);
    AttentionQueries queries;
    int left = 0;
    for (int i = 0; i < count; ++i) left += begin + i / group + 1 > s * kSplitTokens ? 1 : 0;
    int tiles = (left + kAttentionRows - 1) / kAttentionRows;
    for (int i = count - left; i < count; ++i) {
      const int at = queries.count++;
      queries.q[at] = &q[static_cast<size_t>(i) * cache.head_dim];
      queries.begin[at] = 0;
      queries.end[at] = std::min(begin + i / group + 1 - s * kSplitTokens, kSplitTokens);
      queries.state[at] = &states[i];
      if (queries.count < (left + tiles - 1) / tiles) continue;
      kernels.attend[0](queries, split, parameters);
      parameters.prefetch = false;
      left -= queries.count;
      --tiles;
      queries.count = 0;
    }
  }
  for (int i = 0; i < count; ++i) kernels.finish(states[i], cache.head_dim, states[i].out);
}

double median_seconds(const std::function<void()>& body) {
  std::vector<double> times;
  for (int round = 0; round < 9; ++round) {
    const double start = thread_seconds();
    body();
    times.push_back(thread_seconds() - start);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

uint64_t g_sink = 0;  // keeps the read probe from being removed

double read_seconds(const AlignedBuffer& memory) {
  return median_seconds([&] {
    const uint64_t* words = memory.as<uint64_t>();
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i + 8 <= memory.size_bytes() / 8; i += 8) {
      a += words[i] + words[i + 4];
      b += words[i + 1] + words[i + 5];
      c += words[i + 2] + words[i + 6];
      d += words[i + 3] + words[i + 7];
    }
    g_sink += a + b + c + d;
  });
}

void decode(const AttentionKernels& kernels, int head_dim, int group) {
  const int tokens = 64 * 1024 * 1024 / (4 * head_dim) / kSplitTokens * kSplitTokens;  // 64 MiB: twice the L3
  const Cache cache(kernels, head_dim, tokens);
  std::vector<float> q(static_cast<size_t>(group) * head_dim, 0.5F);
  const double seconds = median_seconds([&] { attend(kernels, cache, q, tokens - 1, tokens, group); });
  const double read = read_seconds(cache.memory);
  const double bytes = static_cast<double>(cache.memory.size_bytes());
  std::printf("decode   head_dim %3d group %d: %6.2f GB/s, %3.0f %% of a read's %6.2f, %6.1f GMAC/s\n", head_dim, group,
              bytes / seconds * 1e-9, 100 * read / seconds, bytes / read * 1e-9,
              2.0 * tokens * head_dim * group / seconds * 1e-9);
}

void prefill(const AttentionKernels& kernels, int head_dim, int group) {
  const int tokens = 512;
  const Cache cache(kernels, head_dim, tokens);
  std::vector<float> q(static_cast<size_t>(group) * tokens * head_dim);
  Rng rng(2);
  for (float& v : q) v = rng.uniform(-1, 1);
  const int tile = std::max(1, 48 / group);
  const double seconds = median_seconds([&] {
    for (int begin = 0; begin < tokens; begin += tile) {
      attend(kernels, cache, q, begin, std::min(begin + tile, tokens), group);
    }
  });
  const double pairs = 0.5 * tokens * (tokens + 1) * group;
  std::printf("prefill  head_dim %3d group %d: %6.1f GMAC/s\n", head_dim, group,
              2.0 * pairs * head_dim / seconds * 1e-9);
}

}  // namespace
}  // namespace brio::kernels

int main(int argc, char** argv) {
  using namespace brio;
  set_float_mode();
  Isa isa = cpu_supports(Isa::kAvx512) ? Isa::kAvx512 : cpu_supports(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
  if (argc > 1 && std::string(argv[1]) == "scalar") isa = Isa::kScalar;
  const kernels::AttentionKernels& table = kernels::attention_kernels(isa);
  for (auto [head_dim, group] : {std::pair{64, 3}, {64, 7}, {128, 6}, {256, 4}, {128, 1}, {64, 1}}) {
    kernels::decode(table, head_dim, group);
    kernels::prefill(table, head_dim, group);
  }
}
