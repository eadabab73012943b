// The loops that probes time, for each instruction set: reads with 64-byte loads into 8 or more chains, and multiply-adds
// from registers alone in as many. Several variants of each, because which one is fastest differs between processors.
// No checks: the CPU must support what it is asked to run (probe_loops() lists only that). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/cpu.h"

namespace brio::bench {

// Reads size_bytes from a 64-byte aligned address, a multiple of kReadUnit; gives the exclusive or of its 8-byte words.
inline constexpr size_t kReadUnit = 16384;
struct ReadLoop {
  std::string_view variant;
  uint64_t (*run)(const std::byte* data, size_t size_bytes);
};

// `rounds` rounds of macs_per_round multiply-adds; gives their sum, of products that are 2 in int8 and 1 in floats (exact
// while it is small).
struct MacLoop {
  std::string_view variant;
  int64_t macs_per_round;
  uint64_t (*run)(int64_t rounds);
};

struct ProbeLoops {
  std::span<const ReadLoop> read;
  std::span<const MacLoop> int8;
  std::span<const MacLoop> bf16;  // empty: bf16 products are made with fp32 arithmetic
  std::span<const MacLoop> fp32;
};

// The loops of an ISA; of kScalar those of the best ISA there is, since the machine's roof does not depend on what runs
// under it. On machines other than x86-64 plain C++.
ProbeLoops probe_loops(Isa isa);

ProbeLoops portable_probe_loops();
#if defined(__x86_64__)
ProbeLoops avx2_probe_loops();
ProbeLoops avx512_probe_loops();
bool cpu_has_avx_vnni();
#endif

}  // namespace brio::bench
