#include "telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <vector>

namespace brio::telemetry {
namespace {

using Buckets = std::vector<double>;

// Seconds. vLLM's ranges, with finer low ends: small models answer within a millisecond here.
const Buckets& first_token_buckets() {
  static const Buckets buckets = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,   0.25,  0.5,   0.75,
                                  1.0,   2.5,    5.0,   7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
  return buckets;
}
const Buckets& token_buckets() {
  static const Buckets buckets = {0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03,
                                  0.04,  0.05,   0.075, 0.1,    0.15, 0.2,   0.3,  0.4,   0.5,
                                  0.75,  1.0,    2.5,   5.0,    7.5,  10.0,  20.0, 40.0,  80.0};
  return buckets;
}
const Buckets& request_buckets() {
  static const Buckets buckets = {0.005, 0.01, 0.025, 0.05, 0.1,  0.3,  0.5,  0.8,   1.0,   1.5,   2.0,   2.5,
                                  5.0,   10.0, 15.0,  20.0, 30.0, 40.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0};
  return buckets;
}
const Buckets& length_buckets() {
  static const Buckets buckets = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
  return buckets;
}
const Buckets& batch_buckets() {
  static const Buckets buckets = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
  return buckets;
}

}  // namespace

struct Metrics::Families {
  explicit Families(const std::string& model_name) : labels{{"model_name", model_name}} {}

  prometheus::Counter& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
  }
  prometheus::Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
  }
  prometheus::Histogram& histogram(const char* name, const char* help, const Buckets& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels, buckets);
  }

  std::map<std::string, std::string> labels;
  prometheus::Registry registry;

  prometheus::Gauge& running = gauge("brio:num_requests_running", "Sequences that take part in steps.");
  prometheus::Gauge& waiting = gauge("brio:num_requests_waiting", "Requests and preempted sequences that wait.");
  prometheus::Gauge& kv_use =
      gauge("brio:kv_cache_usage_perc", "Share (0-1) of KV blocks that are referenced, in the fullest KV group.");
  prometheus::Counter& steps = counter("brio:engine_steps_total", "Forward passes.");
  prometheus::Counter& preemptions = counter("brio:num_preemptions_total", "Sequences that gave their blocks back.");
  prometheus::Counter& prompt_tokens =
      counter("brio:prompt_tokens_total", "Prompt tokens computed, recomputation after a preemption included.");
  prometheus::Counter& generated = counter("brio:generation_tokens_total", "Tokens generated.");
  prometheus::Histogram& step_rows = histogram("brio:iteration_tokens_total", "Rows of a step.", batch_buckets());
  prometheus::Histogram& step_sequences =
      histogram("brio:iteration_sequences", "Sequences of a step.", batch_buckets());
  prometheus::Histogram& step_seconds = histogram("brio:iteration_seconds", "Duration of a step.", token_buckets());
  prometheus::Histogram& inter_token = histogram(
      "brio:inter_token_latency_seconds", "Every gap between two tokens of a sequence, pooled.", token_buckets());
  prometheus::Histogram& first_token =
      histogram("brio:time_to_first_token_seconds", "First token - arrival, tokenization and queue included.",
                first_token_buckets());
  prometheus::Histogram& per_token =
      histogram("brio:time_per_output_token_seconds", "(last - first token) / (n - 1), per request.", token_buckets());
  prometheus::Histogram& queue =
      histogram("brio:request_queue_time_seconds", "Arrival to first scheduled.", request_buckets());
  prometheus::Histogram& end_to_end =
      histogram("brio:e2e_request_latency_seconds", "Arrival to the last event.", request_buckets());
  prometheus::Histogram& request_prompt =
      histogram("brio:request_prompt_tokens", "Prompt tokens of a request.", length_buckets());
  prometheus::Histogram& request_generated =
      histogram("brio:request_generation_tokens", "Tokens generated for a request, all choices.", length_buckets());
  prometheus::Family<prometheus::Counter>& finished =
      prometheus::BuildCounter()
          .Name("brio:request_finished_total")
          .Help("Requests that ended, by reason; the sum over reasons is all that were accepted and ended.")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& refused = prometheus::BuildCounter()
                                                         .Name("brio:request_refused_total")
                                                         .Help("Requests that were never accepted, by reason.")
                                                         .Register(registry);

  prometheus::Counter& with(prometheus::Family<prometheus::Counter>& family, const char* label,
                            std::string_view value) {
    auto all = labels;
    all.emplace(label, value);
    return family.Add(all);
  }
};

Metrics::Metrics(const std::string& model_name) : families_(std::make_unique<Families>(model_name)) {
  for (const char* reason : {"stop", "length", "abort", "error"}) {  // present from the start, at zero
    families_->with(families_->finished, "finished_reason", reason);
  }
}

Metrics::~Metrics() = default;

void Metrics::observe_step(const StepObservation& step) {
  Families& f = *families_;
  f.running.Set(step.running);
  f.waiting.Set(step.waiting);
  f.kv_use.Set(step.kv_use);
  f.steps.Increment();
  f.preemptions.Increment(step.preemptions);
  f.prompt_tokens.Increment(step.prompt_tokens);
  f.generated.Increment(step.generated_tokens);
  f.step_rows.Observe(step.rows);
  f.step_sequences.Observe(step.sequences);
  f.step_seconds.Observe(to_seconds(step.duration));
  if (step.inter_token_seconds.empty()) return;
  const Buckets& bounds = token_buckets();
  std::vector<double> increments(bounds.size() + 1, 0.0);
  double sum = 0.0;
  for (double seconds : step.inter_token_seconds) {
    increments[static_cast<size_t>(std::lower_bound(bounds.begin(), bounds.end(), seconds) - bounds.begin())] += 1.0;
    sum += seconds;
  }
  f.inter_token.ObserveMultiple(increments, sum);
}

void Metrics::observe_idle(int waiting) {
  families_->running.Set(0);
  families_->waiting.Set(waiting);
  families_->kv_use.Set(0);
}

void Metrics::observe_request(const RequestObservation& request) {
  Families& f = *families_;
  f.with(f.finished, "finished_reason", request.finish_reason).Increment();
  f.request_prompt.Observe(request.prompt_tokens);
  f.request_generated.Observe(request.generated_tokens);
  const Timeline& timeline = *request.timeline;
  f.queue.Observe(to_seconds(timeline.queue()));
  f.end_to_end.Observe(to_seconds(timeline.end_to_end()));
  if (timeline.tokens.empty()) return;
  f.first_token.Observe(to_seconds(timeline.time_to_first_token()));
  if (const Duration per_token = timeline.time_per_output_token(); per_token > Duration{}) {
    f.per_token.Observe(to_seconds(per_token));
  }
}

void Metrics::count_refused(std::string_view reason) {
  families_->with(families_->refused, "reason", reason).Increment();
}

std::string Metrics::exposition() const {
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace brio::telemetry
