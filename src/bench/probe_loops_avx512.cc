// Probe loops for avx512. 16 chains: vpdpbusd has latency 4 or 5 and a throughput of 1 or 2 a cycle, so 10 are enough.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/target.h"
#include "bench/probe_loops.h"

BRIO_SILENCE_GCC12_AVX512
BRIO_TARGET_BEGIN_AVX512
namespace brio::bench {
namespace {

using Chains = std::make_index_sequence<16>;

// The value as the compiler must believe it has changed, so that neither chains nor rounds are merged.
template <typename Vector>
inline __attribute__((always_inline)) Vector kept(Vector value) {
  __asm__ volatile("" : "+v"(value));
  return value;
}

// The exclusive or of the eight words.
uint64_t fold(__m512i v) {
  alignas(64) uint64_t words[8];
  _mm512_store_si512(words, v);
  uint64_t all = 0;
  for (const uint64_t word : words) all ^= word;
  return all;
}

// Chains are numbered by the template's arguments and not by a loop: an array that is indexed with constants alone lives in
// registers.

// Lines of each of `kStreams` equal parts in turn, 16 in a round, prefetching kAhead bytes before the loads.
template <size_t kStreams, size_t kAhead, size_t... kChain>
inline uint64_t read_chains(const std::byte* data, size_t size_bytes, std::index_sequence<kChain...>) {
  const size_t part = size_bytes / kStreams;
  __m512i chains[] = {(static_cast<void>(kChain), _mm512_setzero_si512())...};
  for (size_t at = 0; at < part; at += sizeof...(kChain) / kStreams * 64) {
    if (kAhead > 0) {
      (_mm_prefetch(
           reinterpret_cast<const char*>(data + kChain % kStreams * part + at + kChain / kStreams * 64 + kAhead),
           _MM_HINT_T0),
       ...);
    }
    ((chains[kChain] = _mm512_xor_si512(
          chains[kChain], _mm512_load_si512(data + kChain % kStreams * part + at + kChain / kStreams * 64))),
     ...);
  }
  __m512i all = _mm512_setzero_si512();
  ((all = _mm512_xor_si512(all, chains[kChain])), ...);
  return fold(all);
}
template <size_t kStreams, size_t kAhead>
uint64_t read_lines(const std::byte* data, size_t size_bytes) {
  return read_chains<kStreams, kAhead>(data, size_bytes, Chains());
}

template <size_t... kChain>
inline uint64_t dpbusd_zmm_chains(int64_t rounds, std::index_sequence<kChain...>) {
  const __m512i a = kept(_mm512_set1_epi8(1));
  const __m512i b = kept(_mm512_set1_epi8(2));
  __m512i chains[] = {(static_cast<void>(kChain), _mm512_setzero_si512())...};
  for (int64_t round = 0; round < rounds; ++round) {
    ((chains[kChain] = kept(_mm512_dpbusd_epi32(chains[kChain], a, b))), ...);
  }
  __m512i all = _mm512_setzero_si512();
  ((all = _mm512_add_epi32(all, chains[kChain])), ...);
  return static_cast<uint32_t>(_mm512_reduce_add_epi32(all));
}
uint64_t dpbusd_zmm(int64_t rounds) {
  return dpbusd_zmm_chains(rounds, Chains());
}

template <size_t... kChain>
inline uint64_t dpbusd_ymm_chains(int64_t rounds, std::index_sequence<kChain...>) {
  const __m256i a = kept(_mm256_set1_epi8(1));
  const __m256i b = kept(_mm256_set1_epi8(2));
  __m256i chains[] = {(static_cast<void>(kChain), _mm256_setzero_si256())...};
  for (int64_t round = 0; round < rounds; ++round) {
    ((chains[kChain] = kept(_mm256_dpbusd_epi32(chains[kChain], a, b))), ...);
  }
  __m256i all = _mm256_setzero_si256();
  ((all = _mm256_add_epi32(all, chains[kChain])), ...);
  return static_cast<uint32_t>(_mm512_reduce_add_epi32(_mm512_zextsi256_si512(all)));
}
uint64_t dpbusd_ymm(int64_t rounds) {
  return dpbusd_ymm_chains(rounds, Chains());
}

template <size_t... kChain>
inline uint64_t dpbf16_zmm_chains(int64_t rounds, std::index_sequence<kChain...>) {
  const auto one = reinterpret_cast<__m512bh>(kept(_mm512_set1_epi16(0x3F80)));
  __m512 chains[] = {(static_cast<void>(kChain), _mm512_setzero_ps())...};
  for (int64_t round = 0; round < rounds; ++round) {
    ((chains[kChain] = kept(_mm512_dpbf16_ps(chains[kChain], one, one))), ...);
  }
  __m512 all = _mm512_setzero_ps();
  ((all = _mm512_add_ps(all, chains[kChain])), ...);
  return static_cast<uint64_t>(_mm512_reduce_add_ps(all));
}
uint64_t dpbf16_zmm(int64_t rounds) {
  return dpbf16_zmm_chains(rounds, Chains());
}

template <size_t... kChain>
inline uint64_t fma_zmm_chains(int64_t rounds, std::index_sequence<kChain...>) {
  const __m512 one = kept(_mm512_set1_ps(1.0F));
  __m512 chains[] = {(static_cast<void>(kChain), _mm512_setzero_ps())...};
  for (int64_t round = 0; round < rounds; ++round) {
    ((chains[kChain] = kept(_mm512_fmadd_ps(one, one, chains[kChain]))), ...);
  }
  __m512 all = _mm512_setzero_ps();
  ((all = _mm512_add_ps(all, chains[kChain])), ...);
  return static_cast<uint64_t>(_mm512_reduce_add_ps(all));
}
uint64_t fma_zmm(int64_t rounds) {
  return fma_zmm_chains(rounds, Chains());
}

constexpr ReadLoop kRead[] = {{"plain", read_lines<1, 0>},
                              {"prefetch 1 KiB ahead", read_lines<1, 1024>},
                              {"prefetch 4 KiB ahead", read_lines<1, 4096>},
                              {"4 streams", read_lines<4, 0>},
                              {"4 streams, prefetch 1 KiB ahead", read_lines<4, 1024>}};
constexpr MacLoop kInt8[] = {{"vpdpbusd zmm", int64_t{Chains::size()} * 64, dpbusd_zmm},
                             {"vpdpbusd ymm", int64_t{Chains::size()} * 32, dpbusd_ymm}};
constexpr MacLoop kBf16[] = {{"vdpbf16ps zmm", int64_t{Chains::size()} * 32, dpbf16_zmm}};
constexpr MacLoop kFp32[] = {{"vfmadd zmm", int64_t{Chains::size()} * 16, fma_zmm}};

}  // namespace

ProbeLoops avx512_probe_loops() {
  return {kRead, kInt8, kBf16, kFp32};
}

}  // namespace brio::bench
BRIO_TARGET_END
#endif
