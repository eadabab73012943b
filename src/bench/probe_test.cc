// Probes do what they are credited with: every byte is read, every multiply-add is made.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "bench/machine.h"
#include "bench/probe.h"
#include "bench/probe_loops.h"

namespace brio::bench {
namespace {

std::vector<std::pair<std::string, ProbeLoops>> all_loops() {
  std::vector<std::pair<std::string, ProbeLoops>> all = {{"portable", portable_probe_loops()}};
#if defined(__x86_64__)
  if (cpu_supports(Isa::kAvx2)) all.emplace_back("avx2", avx2_probe_loops());
  if (cpu_supports(Isa::kAvx512)) all.emplace_back("avx512", avx512_probe_loops());
#endif
  return all;
}

TEST(ProbeLoops, ReadEveryWord) {
  constexpr size_t kSize = 3 * kReadUnit;
  AlignedBuffer memory = std::move(AlignedBuffer::create(kSize)).value();
  Rng rng(1);
  uint64_t expected = 0;
  for (size_t i = 0; i < kSize / 8; ++i) {
    memory.as<uint64_t>()[i] = (uint64_t{rng.next()} << 32) | rng.next();
    expected ^= memory.as<uint64_t>()[i];
  }
  for (const auto& [isa, loops] : all_loops()) {
    for (const ReadLoop& loop : loops.read) EXPECT_EQ(loop.run(memory.data(), kSize), expected) << isa << loop.variant;
  }
}

TEST(ProbeLoops, MakeAsManyProductsAsTheySay) {
  constexpr int64_t kRounds = 7;
  for (const auto& [isa, loops] : all_loops()) {
    ASSERT_FALSE(loops.int8.empty());
    ASSERT_FALSE(loops.fp32.empty());
    for (const MacLoop& loop : loops.int8) {
      EXPECT_EQ(loop.run(kRounds), static_cast<uint64_t>(2 * kRounds * loop.macs_per_round)) << isa << loop.variant;
    }
    for (const auto& floats : {loops.bf16, loops.fp32}) {
      for (const MacLoop& loop : floats) {
        EXPECT_EQ(loop.run(kRounds), static_cast<uint64_t>(kRounds * loop.macs_per_round)) << isa << loop.variant;
      }
    }
  }
}

TEST(Probe, EveryVariantOfEveryProbeRunsInARound) {
  ThreadPool pool(2);
  const ProbeLoops loops = probe_loops(Isa::kScalar);
  auto probe = Probe::create(pool, Isa::kScalar, 1 << 20);
  ASSERT_TRUE(probe.ok()) << probe.error().message;
  const ProbeRound round = probe->run();
  EXPECT_EQ(round.readings.size(), 2 * loops.read.size() + loops.int8.size() + loops.bf16.size() + loops.fp32.size());
  for (const Reading& reading : round.readings) EXPECT_GT(reading.rate, 0.0) << reading.variant;
}

TEST(Probe, MoreThanTheMemoryIsAnError) {
  ThreadPool pool(1);
  const auto probe = Probe::create(pool, Isa::kScalar, memory_limit_bytes());
  ASSERT_FALSE(probe.ok());
  EXPECT_EQ(probe.error().code, ErrorCode::kOutOfMemory);
}

TEST(Machine, TheWorkingSetIsBeyondItsCaches) {
  EXPECT_GE(last_level_cache_bytes(), 64 << 10);
  EXPECT_GE(default_working_set_bytes(), 8 * last_level_cache_bytes());
  EXPECT_GE(default_probe_bytes(), int64_t{1} << 30);
}

}  // namespace
}  // namespace brio::bench
