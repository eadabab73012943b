// `brio bench kernels`: every kernel beside the machine's roof. For each group of cases: rounds of {probes, every case once};
// a case is run on fresh weights or keys until some milliseconds have passed. Rates are medians of rounds, shares are held
// against the probe of the same round.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/kernel_case.h"
#include "bench/probe.h"
#include "bench/statistics.h"

namespace brio::bench {

struct KernelBenchOptions {
  std::vector<tensor::DType> types;  // of linear layers
  std::vector<int> rows = {1, 2, 4, 8, 16, 32, 128, 512};
  std::string filter;  // groups whose name contains it; empty: all
  int rounds = 5;
  int threads = 0;
  Isa isa = Isa::kScalar;
  int64_t working_set_bytes = 0;
  int64_t probe_bytes = 0;
  Duration sample_time = std::chrono::milliseconds(10);
};

struct KernelResult {
  std::string name;  // of the group
  int rows = 0;
  Work work;
  Spread seconds;  // of one run
  Spread share;    // of the roof; more than 1 is an error of the measurement
  Limit limit = Limit::kMemory;
  double bytes_per_second() const { return work.bytes / seconds.median; }
  double macs_per_second() const { return work.macs / seconds.median; }
};

struct KernelReport {
  KernelBenchOptions options;
  std::vector<ProbeSummary> probes;  // over all rounds of all groups
  std::vector<KernelResult> results;
  std::vector<std::string> warnings;
};

// The names of groups that the options select, in order.
std::vector<CaseGroup> selected_groups(const KernelBenchOptions& options);

// Calls on_result as soon as one is known; false from it ends the run early. Errors: kInvalidArgument when the filter
// selects nothing, kOutOfMemory.
Result<KernelReport> run_kernel_bench(const KernelBenchOptions& options,
                                      const std::function<bool(const KernelResult&)>& on_result);

// kNumeric that names the cases whose median share is above 100 %: the probe was disturbed, or a case did not read what it
// claims.
Result<void> check_shares(const std::vector<KernelResult>& results);

// Table: a heading, a line per result, the probes. JSON: one object, documented in src/bench/README.md.
std::string kernel_heading();
std::string to_line(const KernelResult& result);
std::string to_json(const KernelReport& report);

}  // namespace brio::bench
