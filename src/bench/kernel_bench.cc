#include "bench/kernel_bench.h"

#include <algorithm>

#include "base/clock.h"

namespace brio::bench {
namespace {

void append(std::vector<CaseGroup>& to, std::vector<CaseGroup> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Seconds of one run, the mean over as many as `time` takes.
double sample(const KernelCase& measured, Duration time) {
  const TimePoint start = Clock::steady().now();
  int runs = 0;
  Duration took{};
  do {
    measured.run();
    ++runs;
    took = Clock::steady().now() - start;
  } while (took < time);
  return to_seconds(took) / runs;
}

struct Rounds {
  std::vector<double> seconds;
  std::vector<double> shares;
};

KernelResult result_of(const std::string& name, const KernelCase& measured, Rounds rounds, const Rates& rates) {
  KernelResult result;
  result.name = name;
  result.rows = measured.rows;
  result.work = measured.work;
  result.seconds = spread(std::move(rounds.seconds));
  result.share = spread(std::move(rounds.shares));
  result.limit = roof(measured.work, rates).limit;
  return result;
}

}  // namespace

std::vector<CaseGroup> selected_groups(const KernelBenchOptions& options) {
  std::vector<CaseGroup> groups = linear_groups(options.types, options.rows);
  append(groups, attention_groups());
  append(groups, row_groups());
  std::erase_if(groups, [&](const CaseGroup& g) { return g.name.find(options.filter) == std::string::npos; });
  return groups;
}

Result<KernelReport> run_kernel_bench(const KernelBenchOptions& options,
                                      const std::function<bool(const KernelResult&)>& on_result) {
  const std::vector<CaseGroup> groups = selected_groups(options);
  if (groups.empty()) {
    return error(ErrorCode::kInvalidArgument, "no kernel's name contains '{}': names are like '{}'", options.filter,
                 "linear Q4_K qwen2.5-coder-1.5b.down 1536x8960");
  }
  ThreadPool pool(options.threads);
  BRIO_TRY(const auto ops, ops::CpuOps::create(pool, options.isa, tensor::Numerics::kDefault));
  const KernelSetup setup{pool, *ops, options.isa, options.working_set_bytes};
  if (setup.working_set_bytes > memory_limit_bytes() / 2) {
    return error(ErrorCode::kOutOfMemory, "a working set of {} MiB is more than half of this machine's memory",
                 setup.working_set_bytes >> 20);
  }
  BRIO_TRY(Probe probe, Probe::create(pool, options.isa, options.probe_bytes));
  KernelReport report;
  report.options = options;
  std::vector<ProbeRound> probe_rounds;
  bool goes_on = true;
  for (size_t g = 0; g < groups.size() && goes_on; ++g) {
    BRIO_TRY(const std::vector<KernelCase> cases, groups[g].make(setup));
    std::vector<Rounds> rounds(cases.size());
    for (const KernelCase& each : cases) each.run();  // warms up: first touches, the pool's threads
    for (int round = 0; round < options.rounds; ++round) {
      probe_rounds.push_back(probe.run());
      const Rates rates = probe_rounds.back().rates();
      for (size_t c = 0; c < cases.size(); ++c) {
        rounds[c].seconds.push_back(sample(cases[c], options.sample_time));
        rounds[c].shares.push_back(roof(cases[c].work, rates).seconds / rounds[c].seconds.back());
      }
    }
    for (size_t c = 0; c < cases.size() && goes_on; ++c) {
      report.results.push_back(result_of(groups[g].name, cases[c], std::move(rounds[c]), probe_rounds.back().rates()));
      goes_on = on_result(report.results.back());
    }
  }
  report.probes = summarize(probe_rounds);
  report.warnings = drift_warnings(report.probes);
  return report;
}

Result<void> check_shares(const std::vector<KernelResult>& results) {
  std::vector<std::string> above;
  for (const KernelResult& result : results) {
    if (result.share.median > 1.0) {
      above.push_back(fmt::format("{} with {} rows ({:.0f} % of {})", result.name, result.rows,
                                  100 * result.share.median, name(result.limit)));
    }
  }
  if (above.empty()) return {};
  Error error =
      brio::error(ErrorCode::kNumeric, "above 100 % of the roof, which cannot be: {}", fmt::join(above, ", "));
  error.hint =
      "Something else ran while a probe did, or the case does not read what it counts. Repeat on an idle machine.";
  return error;
}

}  // namespace brio::bench
