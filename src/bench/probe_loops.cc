#include "bench/probe_loops.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace brio::bench {
namespace {

uint64_t read_plain(const std::byte* data, size_t size_bytes) {
  uint64_t chains[8] = {};
  for (size_t at = 0; at < size_bytes; at += 64) {
    uint64_t line[8];
    std::memcpy(line, data + at, sizeof(line));
    for (int c = 0; c < 8; ++c) chains[c] ^= line[c];
  }
  uint64_t all = 0;
  for (const uint64_t chain : chains) all ^= chain;
  return all;
}

// Enough independent sums for any register width the compiler may choose; a volatile factor keeps rounds apart.
constexpr int kLanes = 64;

uint64_t int8_portable(int64_t rounds) {
  volatile int8_t factor = 1;
  int8_t weights[kLanes];
  std::memset(weights, 2, sizeof(weights));
  int32_t sums[kLanes] = {};
  for (int64_t round = 0; round < rounds; ++round) {
    const int8_t x = factor;
    for (int i = 0; i < kLanes; ++i) sums[i] += weights[i] * x;
  }
  uint64_t all = 0;
  for (const int32_t sum : sums) all += static_cast<uint32_t>(sum);
  return all;
}

uint64_t fp32_portable(int64_t rounds) {
  volatile float factor = 1.0F;
  float sums[kLanes] = {};
  for (int64_t round = 0; round < rounds; ++round) {
    const float x = factor;
    for (float& sum : sums) sum += x * x;
  }
  float all = 0.0F;
  for (const float sum : sums) all += sum;
  return static_cast<uint64_t>(all);
}

constexpr ReadLoop kRead[] = {{"plain", read_plain}};
constexpr MacLoop kInt8[] = {{"portable", kLanes, int8_portable}};
constexpr MacLoop kFp32[] = {{"portable", kLanes, fp32_portable}};

}  // namespace

ProbeLoops portable_probe_loops() {
  return {kRead, kInt8, {}, kFp32};
}

#if defined(__x86_64__)
bool cpu_has_avx_vnni() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (!cpu_supports(Isa::kAvx2) || __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (eax >> 4 & 1) != 0;
}

ProbeLoops probe_loops(Isa isa) {
  if (isa != Isa::kAvx2 && cpu_supports(Isa::kAvx512)) return avx512_probe_loops();
  return cpu_supports(Isa::kAvx2) ? avx2_probe_loops() : portable_probe_loops();
}
#else
ProbeLoops probe_loops(Isa /*isa*/) {
  return portable_probe_loops();
}
#endif

}  // namespace brio::bench
