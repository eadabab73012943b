// Probe loops for avx2. 8 chains of the 16 registers; a line is two 32-byte loads. The int8 probes are those of processors
// without VNNI (8-bit products in pairs to 16 bits, pairs to 32; up to four products fit 16 bits when a weight has 4
// bits), and AVX-VNNI's instruction where the processor has that.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/target.h"
#include "bench/probe_loops.h"

BRIO_TARGET_BEGIN_AVX2
namespace brio::bench {
namespace {

using Chains = std::make_index_sequence<8>;
using FmaChains = std::make_index_sequence<12>;  // latency 4 or 5, two a cycle

// The value as the compiler must believe it has changed, so that neither chains nor rounds are merged.
template <typename Vector>
inline __attribute__((always_inline)) Vector kept(Vector value) {
  __asm__ volatile("" : "+x"(value));
  return value;
}

// The exclusive or of the four words, and the sum of the eight lanes.
uint64_t fold(__m256i v) {
  return static_cast<uint64_t>(_mm256_extract_epi64(v, 0) ^ _mm256_extract_epi64(v, 1) ^ _mm256_extract_epi64(v, 2) ^
                               _mm256_extract_epi64(v, 3));
}
uint64_t sum(__m256i v) {
  alignas(32) uint32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), v);
  uint64_t total = 0;
  for (const uint32_t lane : lanes) total += lane;
  return total;
}

// Chains are numbered by the template's arguments and not by a loop: an array that is indexed with constants alone lives in
// registers.

// Half lines of each of `kStreams` equal parts in turn, 8 in a round, prefetching kAhead bytes before the loads.
template <size_t kStreams, size_t kAhead, size_t... kChain>
inline uint64_t read_chains(const std::byte* data, size_t size_bytes, std::index_sequence<kChain...>) {
  const size_t part = size_bytes / kStreams;
  __m256i chains[] = {(static_cast<void>(kChain), _mm256_setzero_si256())...};
  for (size_t at = 0; at < part; at += sizeof...(kChain) / kStreams * 32) {
    if (kAhead > 0) {  // a line twice: the second costs an instruction
      (_mm_prefetch(
           reinterpret_cast<const char*>(data + kChain % kStreams * part + at + kChain / kStreams * 32 + kAhead),
           _MM_HINT_T0),
       ...);
    }
    ((chains[kChain] =
          _mm256_xor_si256(chains[kChain], _mm256_load_si256(reinterpret_cast<const __m256i*>(
                                               data + kChain % kStreams * part + at + kChain / kStreams * 32)))),
     ...);
  }
  __m256i all = _mm256_setzero_si256();
  ((all = _mm256_xor_si256(all, chains[kChain])), ...);
  return fold(all);
}
template <size_t kStreams, size_t kAhead>
uint64_t read_lines(const std::byte* data, size_t size_bytes) {
  return read_chains<kStreams, kAhead>(data, size_bytes, Chains());
}

// kProducts vpmaddubsw, added in 16 bits.
template <int kProducts>
inline __attribute__((always_inline)) __m256i pairs(__m256i a, __m256i b) {
  __m256i all = _mm256_maddubs_epi16(kept(a), b);
  for (int p = 1; p < kProducts; ++p) all = _mm256_add_epi16(all, _mm256_maddubs_epi16(kept(a), b));
  return all;
}

template <int kProducts, size_t... kChain>
inline uint64_t maddubs_chains(int64_t rounds, std::index_sequence<kChain...>) {
  const __m256i a = kept(_mm256_set1_epi8(1));
  const __m256i b = kept(_mm256_set1_epi8(2));
  const __m256i ones = kept(_mm256_set1_epi16(1));
  __m256i chains[] = {(static_cast<void>(kChain), _mm256_setzero_si256())...};
  for (int64_t round = 0; round < rounds; ++round) {
    ((chains[kChain] = kept(_mm256_add_epi32(chains[kChain], _mm256_madd_epi16(pairs<kProducts>(a, b), ones)))), ...);
  }
  __m256i all = _mm256_setzero_si256();
  ((all = _mm256_add_epi32(all, chains[kChain])), ...);
  return sum(all);
}
template <int kProducts>
uint64_t maddubs(int64_t rounds) {
  return maddubs_chains<kProducts>(rounds, Chains());
}

template <size_t... kChain>
inline uint64_t fma_chains(int64_t rounds, std::index_sequence<kChain...>) {
  const __m256 one = kept(_mm256_set1_ps(1.0F));
  __m256 chains[] = {(static_cast<void>(kChain), _mm256_setzero_ps())...};
  for (int64_t round = 0; round < rounds; ++round) {
    ((chains[kChain] = kept(_mm256_fmadd_ps(one, one, chains[kChain]))), ...);
  }
  __m256 all = _mm256_setzero_ps();
  ((all = _mm256_add_ps(all, chains[kChain])), ...);
  return sum(_mm256_cvtps_epi32(all));
}
uint64_t fma_ymm(int64_t rounds) {
  return fma_chains(rounds, FmaChains());
}

}  // namespace
}  // namespace brio::bench
BRIO_TARGET_END

BRIO_TARGET_PUSH("avx2,fma,f16c,bmi,bmi2,avxvnni")  // what the functions above may use, and one more
namespace brio::bench {
namespace {

template <size_t... kChain>
inline uint64_t dpbusd_chains(int64_t rounds, std::index_sequence<kChain...>) {
  const __m256i a = kept(_mm256_set1_epi8(1));
  const __m256i b = kept(_mm256_set1_epi8(2));
  __m256i chains[] = {(static_cast<void>(kChain), _mm256_setzero_si256())...};
  for (int64_t round = 0; round < rounds; ++round) {
    ((chains[kChain] = kept(_mm256_dpbusd_avx_epi32(chains[kChain], a, b))), ...);
  }
  __m256i all = _mm256_setzero_si256();
  ((all = _mm256_add_epi32(all, chains[kChain])), ...);
  return sum(all);
}
uint64_t dpbusd_ymm(int64_t rounds) {
  return dpbusd_chains(rounds, FmaChains());
}

}  // namespace
}  // namespace brio::bench
BRIO_TARGET_END

namespace brio::bench {
namespace {

constexpr ReadLoop kRead[] = {{"plain", read_lines<1, 0>},
                              {"prefetch 1 KiB ahead", read_lines<1, 1024>},
                              {"prefetch 4 KiB ahead", read_lines<1, 4096>},
                              {"4 streams", read_lines<4, 0>},
                              {"4 streams, prefetch 1 KiB ahead", read_lines<4, 1024>}};
// The last needs AVX-VNNI.
constexpr MacLoop kInt8[] = {{"vpmaddubsw, vpmaddwd ymm", int64_t{Chains::size()} * 32, maddubs<1>},
                             {"4 vpmaddubsw, vpmaddwd ymm", int64_t{Chains::size()} * 4 * 32, maddubs<4>},
                             {"vpdpbusd ymm (AVX-VNNI)", int64_t{FmaChains::size()} * 32, dpbusd_ymm}};
constexpr MacLoop kFp32[] = {{"vfmadd ymm", int64_t{FmaChains::size()} * 8, fma_ymm}};

}  // namespace

ProbeLoops avx2_probe_loops() {
  const std::span<const MacLoop> int8 = kInt8;
  return {kRead, cpu_has_avx_vnni() ? int8 : int8.first(2), {}, kFp32};
}

}  // namespace brio::bench
#endif
