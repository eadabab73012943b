// Probe: what this machine can do at this moment, measured with the threads of the pool that the kernels use: reading memory
// (at least 1 GiB, each thread its own part), reading the nearest cache, multiply-adds in int8, bf16 and fp32. A share of
// the roof is held against the probe of the same round, because hosts change speed within minutes. Every variant of every
// probe runs in every round; the best one counts.
//
//   BRIO_TRY(Probe probe, Probe::create(pool, isa, default_probe_bytes()));
//   const ProbeRound round = probe.run();
//   const Roof best = roof(work, round.rates());
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/cpu.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "bench/probe_loops.h"
#include "bench/roof.h"
#include "bench/statistics.h"

namespace brio::bench {

// The rate of one variant: bytes/s for kMemory and kCache, multiply-adds/s for the others.
struct Reading {
  Limit probe = Limit::kMemory;
  std::string_view variant;
  double rate = 0.0;
};

struct ProbeRound {
  std::vector<Reading> readings;
  Rates rates() const;  // of the best variants; bf16 without one of its own is that of fp32
};

class Probe {
 public:
  // read_bytes: of memory, rounded up to whole units for every thread. kOutOfMemory when more than half of what the
  // process may use. The pool outlives the probe.
  static Result<Probe> create(ThreadPool& pool, Isa isa, int64_t read_bytes);

  // One round; the calling thread is pinned meanwhile, as the pool's others are.
  ProbeRound run();

 private:
  Probe(ThreadPool& pool, ProbeLoops loops, AlignedBuffer memory, size_t part_bytes);
  double read_rate(const ReadLoop& loop);
  double cache_rate(const ReadLoop& loop);
  double mac_rate(const MacLoop& loop);

  ThreadPool* pool_;
  ProbeLoops loops_;
  AlignedBuffer memory_;
  size_t part_bytes_;              // of each thread
  std::vector<uint64_t> results_;  // by thread: keeps the loops from being removed
};

// One probe over the rounds of a run.
struct ProbeSummary {
  Limit probe = Limit::kMemory;
  Spread rate;                    // of the best variant in each round
  std::vector<Reading> variants;  // medians
};
std::vector<ProbeSummary> summarize(const std::vector<ProbeRound>& rounds);
std::string to_text(const std::vector<ProbeSummary>& probes);  // a line each, and one for every variant

// A host that changes speed by more than this inside a run spoils what is compared across it.
inline constexpr double kMostDrift = 0.10;
// A sentence per probe that moved further; no probe of a cache, whose part is small.
std::vector<std::string> drift_warnings(const std::vector<ProbeSummary>& summaries);

}  // namespace brio::bench
