#include "bench/model_bench.h"

#include <algorithm>

#include "bench/model_run.h"
#include "ops/cpu_ops.h"

namespace brio::bench {
namespace {

constexpr int kMostRows = 512;       // of a step, as everywhere
constexpr int kWarmUpSteps = 2;      // of a decode
constexpr double kUsable = 0.8;      // of the memory, for weights, probe and KV cache together
constexpr int kBreakdownSteps = 16;  // of a decode

std::vector<TensorSize> tensor_sizes(const weights::Checkpoint& checkpoint) {
  std::vector<TensorSize> sizes;
  for (const auto& tensor : checkpoint.tensors()) {
    TensorSize size{std::string(tensor.name), 1, tensor.dims.empty() ? 1 : tensor.dims.front(), tensor.size_bytes};
    for (size_t i = 1; i < tensor.dims.size(); ++i) size.rows *= tensor.dims[i];
    sizes.push_back(std::move(size));
  }
  return sizes;
}

struct Case {
  ModelCase result;
  RunPlan plan;
  std::vector<double> tokens_per_second, ms, shares, read_shares, int8_shares;
};

std::vector<Case> make_cases(const ModelBenchOptions& options) {
  std::vector<Case> cases;
  for (const int context : options.contexts) {
    const auto add = [&](Phase phase, int batch, int tokens) {
      Case made;
      made.result.phase = phase;
      made.result.batch = batch;
      made.result.context = context;
      made.plan = {phase, batch, context, tokens, 0};
      cases.push_back(std::move(made));
    };
    if (options.prompt > 0) add(Phase::kPrefill, 1, options.prompt);
    if (options.tokens == 0) continue;
    for (const int batch : options.batches) add(Phase::kDecode, batch, options.tokens);
  }
  return cases;
}

Result<void> check_options(const ModelBenchOptions& options, const model::Config& config) {
  if (options.prompt == 0 && options.tokens == 0) {
    return error(ErrorCode::kInvalidArgument, "-p 0 and -n 0: nothing is left to measure");
  }
  for (const int context : options.contexts) {
    const int most = context + std::max(options.prompt, options.tokens);
    if (most > config.context) {
      return error(ErrorCode::kContextLengthExceeded,
                   "--kv {} with -p {} and -n {} makes {} tokens, the model's context is {}", context, options.prompt,
                   options.tokens, most, config.context);
    }
  }
  return {};
}

// Bytes and multiply-adds of linear layers that the measured steps needed.
Work work_of(const RunResult& run, const StepCost& cost) {
  return {static_cast<double>(cost.weight_bytes) * run.steps + static_cast<double>(run.kv_bytes),
          static_cast<double>(cost.macs_per_row) * static_cast<double>(run.rows) +
              static_cast<double>(cost.macs_per_logits_row) * static_cast<double>(run.logits_rows)};
}

void add_round(Case& measured, const RunResult& run, const StepCost& cost, const Rates& rates) {
  const double seconds = to_seconds(run.time);
  const Work work = work_of(run, cost);
  const Roof best = roof(work, rates);
  measured.tokens_per_second.push_back(static_cast<double>(run.rows) / seconds);
  measured.ms.push_back(seconds * 1e3 / run.steps);
  measured.shares.push_back(best.seconds / seconds);
  measured.read_shares.push_back(work.bytes / seconds / rates.read);
  measured.int8_shares.push_back(work.macs / seconds / rates.int8);
  ModelCase& result = measured.result;
  result.rows_per_step = static_cast<double>(run.rows) / run.steps;
  result.bytes_per_step = work.bytes / run.steps;
  result.macs_per_step = work.macs / run.steps;
  result.limit = best.limit;
}

void finish(Case& measured) {
  measured.result.tokens_per_second = spread(std::move(measured.tokens_per_second));
  measured.result.ms_per_step = spread(std::move(measured.ms));
  measured.result.share = spread(std::move(measured.shares));
  measured.result.read_share = spread(std::move(measured.read_shares));
  measured.result.int8_share = spread(std::move(measured.int8_shares));
}

Result<void> break_down(Case& measured, ModelUnderTest& tested, const Rates& rates) {
  RunPlan plan = measured.plan;
  if (plan.phase == Phase::kDecode) plan.tokens = std::min(plan.tokens, kBreakdownSteps);
  BRIO_TRY(const RunResult run, run_once(plan, tested, Timing::kOn));
  const double step_ms = to_ms(run.time) / run.steps;
  double rest_ms = step_ms;
  double linear_seconds = 0.0;
  ModelCase& result = measured.result;
  for (const auto& [name, total] : tested.ops->totals()) {
    const double ms = to_ms(total.time) / run.steps;
    result.breakdown.push_back({name, ms, static_cast<double>(total.calls) / run.steps, ms / step_ms, total.is_linear});
    rest_ms -= ms;
    if (total.is_linear) linear_seconds += to_seconds(total.time);
  }
  std::sort(result.breakdown.begin(), result.breakdown.end(),
            [](const OpShare& a, const OpShare& b) { return a.ms_per_step > b.ms_per_step; });
  result.breakdown.push_back({"scheduling, sampling, the rest", rest_ms, 1.0, rest_ms / step_ms, false});
  result.linear_share = work_of(run, tested.cost).macs / linear_seconds / rates.int8;
  return {};
}

void skip_what_does_not_fit(std::vector<Case>& cases, ModelUnderTest& tested, int64_t probe_bytes) {
  const double usable = kUsable * static_cast<double>(memory_limit_bytes());
  const int64_t taken = tested.model->weight_bytes() + probe_bytes;
  for (Case& each : cases) {
    const int64_t needed = kv_bytes_needed(each.plan, *tested.model);
    if (static_cast<double>(needed + taken) <= usable) continue;
    each.result.skipped = fmt::format("{} MiB of KV cache do not fit", needed >> 20);
  }
}

std::vector<std::string> warnings_of(const ModelReport& report) {
  std::vector<std::string> warnings = drift_warnings(report.probes);
  for (const ModelCase& measured : report.cases) {
    if (measured.share.median <= 1.0) continue;
    warnings.push_back(
        fmt::format("{} of {} at {}: above 100 % of the {} probe; part of what it reads came from a cache, or the "
                    "probe was disturbed",
                    name(measured.phase), measured.batch, measured.context, name(measured.limit)));
  }
  return warnings;
}

}  // namespace

std::string_view name(Phase phase) {
  return phase == Phase::kPrefill ? "prefill" : "decode";
}

Result<ModelUnderTest> load_for_bench(const weights::Checkpoint& checkpoint, const ModelBenchOptions& options,
                                      const std::function<void(double)>& progress) {
  ModelUnderTest tested;
  tested.name = checkpoint.path().stem().string();
  tested.pool = std::make_unique<ThreadPool>(options.threads);
  BRIO_TRY(std::unique_ptr<ops::OpSet> device,
           ops::CpuOps::create(*tested.pool, options.isa, tensor::Numerics::kDefault));
  tested.ops = std::make_shared<TimedOps>(std::move(device));
  model::BuildOptions build;
  build.limits.max_rows = kMostRows;
  for (const int batch : options.batches)
    build.limits.max_logits = std::max(build.limits.max_logits, sequence_room(batch));
  build.progress_context = const_cast<void*>(static_cast<const void*>(&progress));
  build.progress = [](void* context, double done) {
    (*static_cast<const std::function<void(double)>*>(context))(done);
  };
  BRIO_TRY(std::unique_ptr<model::Model> model, model::build_model(checkpoint, tested.ops, *tested.pool, build));
  BRIO_TRY(tested.model, FilledContext::create(std::move(model), tested.ops));
  tested.cost = step_cost(tensor_sizes(checkpoint));
  return tested;
}

Result<ModelReport> run_model_bench(ModelUnderTest& tested, const ModelBenchOptions& options,
                                    const std::function<bool(double)>& progress) {
  BRIO_TRY_OK(check_options(options, tested.model->config()));
  BRIO_TRY(Probe probe, Probe::create(*tested.pool, options.isa, options.probe_bytes));
  std::vector<Case> cases = make_cases(options);
  skip_what_does_not_fit(cases, tested, options.probe_bytes);
  const double total = static_cast<double>(cases.size()) * (options.rounds + 2);
  int done = 0;
  uint64_t seed = 0;
  const auto advance = [&]() -> Result<void> {
    if (progress(++done / total)) return {};
    return error(ErrorCode::kCancelled, "interrupted");
  };
  for (Case& each : cases) {
    RunPlan warm_up = each.plan;
    if (warm_up.phase == Phase::kDecode) warm_up.tokens = kWarmUpSteps;
    if (each.result.skipped.empty()) BRIO_TRY_OK(run_once(warm_up, tested, Timing::kOff));
    BRIO_TRY_OK(advance());
  }
  std::vector<ProbeRound> rounds;
  for (int round = 0; round < options.rounds; ++round) {
    rounds.push_back(probe.run());
    for (Case& each : cases) {
      each.plan.seed = ++seed;
      if (each.result.skipped.empty()) {
        BRIO_TRY(const RunResult run, run_once(each.plan, tested, Timing::kOff));
        add_round(each, run, tested.cost, rounds.back().rates());
      }
      BRIO_TRY_OK(advance());
    }
  }
  ModelReport report{tested.name, options, tested.cost, tested.model->weight_bytes(), summarize(rounds), {}, {}};
  for (Case& each : cases) {
    each.plan.seed = ++seed;
    finish(each);
    if (each.result.skipped.empty()) BRIO_TRY_OK(break_down(each, tested, rounds.back().rates()));
    report.cases.push_back(std::move(each.result));
    BRIO_TRY_OK(advance());
  }
  report.warnings = warnings_of(report);
  return report;
}

}  // namespace brio::bench
