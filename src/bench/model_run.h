// One run of one case of the model bench: an engine of its own, stepped by the caller's thread until what was to be
// measured is done. Used by model_bench.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "bench/model_bench.h"

namespace brio::bench {

struct RunPlan {
  Phase phase = Phase::kPrefill;
  int batch = 1;      // sequences
  int context = 0;    // tokens before what is measured
  int tokens = 1;     // of a prefill, or steps of a decode
  uint64_t seed = 0;  // prompts never repeat, so that no cache of prefixes can help
};

// What the measured steps did.
struct RunResult {
  Duration time{};
  int steps = 0;
  int64_t rows = 0;
  int64_t logits_rows = 0;
  int64_t kv_bytes = 0;  // read by attention
};

// Sequences that the engine of a run has room for; the model's Limits::max_logits must be as many.
int sequence_room(int batch);

// Bytes of KV cache that a run needs.
int64_t kv_bytes_needed(const RunPlan& plan, model::Model& model);

enum class Timing : bool { kOff, kOn };  // of operations, through ModelUnderTest::ops, in the measured steps
Result<RunResult> run_once(const RunPlan& plan, ModelUnderTest& tested, Timing timing);

}  // namespace brio::bench
