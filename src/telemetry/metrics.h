// Metrics: the counters, gauges and histograms of a serving process, in Prometheus's text format on GET /metrics. Names
// follow vLLM's with the prefix "brio:", so that dashboards need one edit. The engine observes once per step and once
// per finished request, never per row (a histogram takes a lock). Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "telemetry/timeline.h"

namespace brio::telemetry {

struct StepObservation {
  int rows = 0;
  int sequences = 0;
  int prompt_tokens = 0;
  int generated_tokens = 0;
  int preemptions = 0;
  int running = 0;  // sequences after the step
  int waiting = 0;
  double kv_use = 0.0;  // 0..1: referenced blocks of the fullest group
  Duration duration{};
  std::span<const double> inter_token_seconds;  // one per token of this step that had a predecessor
};

struct RequestObservation {
  std::string_view finish_reason;  // "stop", "length", "abort", "error"
  int prompt_tokens = 0;
  int generated_tokens = 0;
  const Timeline* timeline = nullptr;
};

class Metrics {
 public:
  explicit Metrics(const std::string& model_name);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void observe_step(const StepObservation& step);
  void observe_request(const RequestObservation& request);
  void observe_idle(int waiting);               // nothing runs
  void count_refused(std::string_view reason);  // never accepted: "overloaded", "context_length_exceeded", ...
  std::string exposition() const;               // text/plain; version=0.0.4

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace brio::telemetry
