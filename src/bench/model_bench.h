// `brio bench model`: prefill and decode of a real model through the production engine (scheduler, KV cache, forward pass,
// sampler), beside the machine's roof. Rounds of {probes, every case once}; then, in runs of their own, how the time of a
// step divides into operations.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/filled_context.h"
#include "bench/probe.h"
#include "bench/statistics.h"
#include "bench/step_cost.h"
#include "bench/timed_ops.h"

namespace brio::bench {

struct ModelBenchOptions {
  int prompt = 512;                                 // tokens of a prefill; 0: none is measured
  int tokens = 64;                                  // steps of a decode; 0: none is measured
  std::vector<int> batches = {1, 2, 4, 8, 16, 32};  // sequences that decode together
  std::vector<int> contexts = {0, 4096};            // tokens in the cache before either
  int rounds = 5;
  int threads = 0;
  Isa isa = Isa::kScalar;
  int64_t probe_bytes = 0;
};

// A model loaded so that the bench can time it.
struct ModelUnderTest {
  std::string name;
  std::unique_ptr<ThreadPool> pool;
  std::shared_ptr<TimedOps> ops;
  std::unique_ptr<FilledContext> model;
  StepCost cost;
};
Result<ModelUnderTest> load_for_bench(const weights::Checkpoint& checkpoint, const ModelBenchOptions& options,
                                      const std::function<void(double)>& progress);

enum class Phase : uint8_t { kPrefill, kDecode };
std::string_view name(Phase phase);

struct OpShare {
  std::string op;
  double ms_per_step = 0.0;
  double calls_per_step = 0.0;
  double share = 0.0;  // of the step's time
  bool is_linear = false;
};

struct ModelCase {
  Phase phase = Phase::kPrefill;
  int batch = 1;
  int context = 0;
  std::string skipped;  // why it was not measured; empty: it was
  Spread tokens_per_second;
  Spread ms_per_step;
  double rows_per_step = 0.0;
  double bytes_per_step = 0.0;  // of weights in the file, and of keys and values
  double macs_per_step = 0.0;   // of linear layers
  Spread share;                 // of the roof
  Spread read_share;            // bytes per second over the read probe
  Spread int8_share;            // multiply-adds per second over the int8 probe
  Limit limit = Limit::kMemory;
  double linear_share =
      0.0;  // multiply-adds over the int8 probe, of the time inside linear layers alone (breakdown's run)
  std::vector<OpShare> breakdown;  // the longest first
};

struct ModelReport {
  std::string model;
  ModelBenchOptions options;
  StepCost cost;
  int64_t packed_bytes = 0;
  std::vector<ProbeSummary> probes;
  std::vector<ModelCase> cases;
  std::vector<std::string> warnings;
};

// progress(0..1); false ends the run with kCancelled. Errors: kContextLengthExceeded names the flags, kOutOfMemory. A case
// whose KV cache does not fit the memory is skipped and says so.
Result<ModelReport> run_model_bench(ModelUnderTest& tested, const ModelBenchOptions& options,
                                    const std::function<bool(double)>& progress);

std::string to_table(const ModelReport& report);
std::string to_json(const ModelReport& report);  // one object, documented in src/bench/README.md

}  // namespace brio::bench
