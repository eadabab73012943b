#include "bench/probe.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace brio::bench {
namespace {

// 16 chains at one or two a cycle: about five milliseconds.
constexpr int64_t kMacRounds = int64_t{1} << 20;
constexpr int kCacheRounds = 10000;  // of 16 KiB: some milliseconds

// Keeps the calling thread on the first allowed CPU; the pool has put its others on those that follow.
class Pin {
 public:
  explicit Pin(bool wanted) {
    if (!wanted || sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(static_cast<size_t>(allowed_cpus().front()), &first);
    pinned_ = sched_setaffinity(0, sizeof(first), &first) == 0;
  }
  ~Pin() {
    if (pinned_) sched_setaffinity(0, sizeof(before_), &before_);
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  cpu_set_t before_{};
  bool pinned_ = false;
};

template <typename Body>
double seconds_of(const Body& body) {
  const TimePoint start = Clock::steady().now();
  body();
  return to_seconds(Clock::steady().now() - start);
}

double* rate_of(Rates& rates, Limit probe) {
  switch (probe) {
    case Limit::kMemory:
      return &rates.read;
    case Limit::kCache:
      return &rates.cache;
    case Limit::kInt8:
      return &rates.int8;
    case Limit::kBF16:
      return &rates.bf16;
    case Limit::kFP32:
      return &rates.fp32;
  }
  return &rates.read;
}

}  // namespace

Rates ProbeRound::rates() const {
  Rates best;
  for (const Reading& reading : readings) {
    double* const rate = rate_of(best, reading.probe);
    *rate = std::max(*rate, reading.rate);
  }
  if (best.bf16 == 0.0) best.bf16 = best.fp32;
  return best;
}

Result<Probe> Probe::create(ThreadPool& pool, Isa isa, int64_t read_bytes) {
  const auto threads = static_cast<size_t>(pool.num_threads());
  const size_t units = (static_cast<size_t>(std::max<int64_t>(read_bytes, 1)) + kReadUnit - 1) / kReadUnit;
  const size_t part = (units + threads - 1) / threads * kReadUnit;
  if (part * threads > static_cast<size_t>(memory_limit_bytes()) / 2) {
    return error(ErrorCode::kOutOfMemory, "the read probe needs {} MiB, more than half of this machine's memory",
                 part * threads >> 20);
  }
  BRIO_TRY(AlignedBuffer memory, AlignedBuffer::create(part * threads));
  // By the thread that will read it, and with something in it: untouched pages are all the same one.
  pool.run([&](int thread) { std::memset(memory.data() + static_cast<size_t>(thread) * part, thread + 1, part); });
  return Probe(pool, probe_loops(isa), std::move(memory), part);
}

Probe::Probe(ThreadPool& pool, ProbeLoops loops, AlignedBuffer memory, size_t part_bytes)
    : pool_(&pool),
      loops_(loops),
      memory_(std::move(memory)),
      part_bytes_(part_bytes),
      results_(static_cast<size_t>(pool.num_threads())) {}

double Probe::read_rate(const ReadLoop& loop) {
  const double seconds = seconds_of([&] {
    pool_->run([&](int thread) {
      const auto t = static_cast<size_t>(thread);
      results_[t] = loop.run(memory_.data() + t * part_bytes_, part_bytes_);
    });
  });
  return static_cast<double>(memory_.size_bytes()) / seconds;
}

double Probe::cache_rate(const ReadLoop& loop) {
  const double seconds = seconds_of([&] {
    pool_->run([&](int thread) {
      const auto t = static_cast<size_t>(thread);
      for (int round = 0; round < kCacheRounds; ++round) {
        results_[t] += loop.run(memory_.data() + t * part_bytes_, kReadUnit);
      }
    });
  });
  return static_cast<double>(kReadUnit) * kCacheRounds * pool_->num_threads() / seconds;
}

double Probe::mac_rate(const MacLoop& loop) {
  const double seconds = seconds_of(
      [&] { pool_->run([&](int thread) { results_[static_cast<size_t>(thread)] = loop.run(kMacRounds); }); });
  return static_cast<double>(loop.macs_per_round) * static_cast<double>(kMacRounds) * pool_->num_threads() / seconds;
}

ProbeRound Probe::run() {
  const Pin pin(pool_->num_threads() <= effective_cpus());
  ProbeRound round;
  for (const ReadLoop& loop : loops_.read) round.readings.push_back({Limit::kMemory, loop.variant, read_rate(loop)});
  for (const ReadLoop& loop : loops_.read) round.readings.push_back({Limit::kCache, loop.variant, cache_rate(loop)});
  for (const MacLoop& loop : loops_.int8) round.readings.push_back({Limit::kInt8, loop.variant, mac_rate(loop)});
  for (const MacLoop& loop : loops_.bf16) round.readings.push_back({Limit::kBF16, loop.variant, mac_rate(loop)});
  for (const MacLoop& loop : loops_.fp32) round.readings.push_back({Limit::kFP32, loop.variant, mac_rate(loop)});
  return round;
}

std::vector<ProbeSummary> summarize(const std::vector<ProbeRound>& rounds) {
  std::vector<ProbeSummary> summaries;
  if (rounds.empty()) return summaries;
  for (const Limit probe : {Limit::kMemory, Limit::kCache, Limit::kInt8, Limit::kBF16, Limit::kFP32}) {
    ProbeSummary summary;
    summary.probe = probe;
    const std::vector<Reading>& first = rounds.front().readings;
    for (size_t i = 0; i < first.size(); ++i) {
      if (first[i].probe != probe) continue;
      std::vector<double> rates;
      rates.reserve(rounds.size());
      for (const ProbeRound& round : rounds) rates.push_back(round.readings[i].rate);
      summary.variants.push_back({probe, first[i].variant, spread(std::move(rates)).median});
    }
    if (summary.variants.empty()) continue;
    std::vector<double> best;
    for (const ProbeRound& round : rounds) {
      Rates rates = round.rates();
      best.push_back(*rate_of(rates, probe));
    }
    summary.rate = spread(std::move(best));
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<std::string> drift_warnings(const std::vector<ProbeSummary>& summaries) {
  std::vector<std::string> warnings;
  for (const ProbeSummary& summary : summaries) {
    const double moved = drift(summary.rate);
    if (summary.probe == Limit::kCache || moved <= kMostDrift) continue;
    warnings.push_back(
        fmt::format("the {} probe moved by {:.0f} % inside this run ({:.1f} to {:.1f} G/s): the machine is "
                    "busy or changed speed, do not compare with other runs",
                    name(summary.probe), 100 * moved, summary.rate.min * 1e-9, summary.rate.max * 1e-9));
  }
  return warnings;
}

std::string to_text(const std::vector<ProbeSummary>& probes) {
  std::string text;
  for (const ProbeSummary& probe : probes) {
    const bool is_read = probe.probe == Limit::kMemory || probe.probe == Limit::kCache;
    text += fmt::format("probe {:<6} {:8.1f} {:<6} ({:.1f} to {:.1f})\n", name(probe.probe), probe.rate.median * 1e-9,
                        is_read ? "GB/s" : "GMAC/s", probe.rate.min * 1e-9, probe.rate.max * 1e-9);
    for (const Reading& variant : probe.variants) {
      text += fmt::format("             {:8.1f}        {}\n", variant.rate * 1e-9, variant.variant);
    }
  }
  return text;
}

}  // namespace brio::bench
