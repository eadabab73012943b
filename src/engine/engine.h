// Engine: one model, its KV cache and everyone who wants tokens from it. submit() returns at once; answers arrive as
// events on the sink. Either a thread of its own steps it (start, drain, stop) or the caller does (step), as tests do
// on a virtual clock.
//
//   BRIO_TRY(auto engine, Engine::create(*model, tokenizer.get(), options));
//   engine->start();
//   BRIO_TRY(RequestId id, engine->submit(std::move(request), sink));
//   engine->abort(id);                                    // optional; honoured within one step
//   engine->drain();                                      // everything accepted is answered
//
// submit, abort and stats: any thread. The model and the tokenizer must outlive the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "engine/batching.h"
#include "engine/chunking.h"
#include "engine/events.h"
#include "engine/request.h"
#include "engine/runner.h"
#include "engine/step.h"
#include "model/model.h"
#include "telemetry/metrics.h"
#include "tokenizer/tokenizer.h"

namespace brio::engine {

struct EngineOptions {
  int max_context = 0;           // tokens of one sequence; 0: what the model was trained for
  int max_rows = 0;              // of a step, the token budget; 0: as many as the model takes
  int max_sequences = 32;        // running at once; at most max_rows and the Limits::max_logits of the model
  int max_waiting = 1024;        // requests not yet running; more are refused with kOverloaded
  int64_t kv_bytes = 0;          // budget of the KV cache; 0: enough for max_sequences of max_context
  std::optional<int> kv_blocks;  // blocks of every KV group instead of a budget (tests)
  BatchingOptions batching;
  Chunking chunking;
  RandomPreemption random_preemption;
  bool poison_freed_blocks = false;  // NaN into freed KV blocks (tests)
  bool check_invariants = false;     // after every step; always on in debug builds
  std::optional<uint64_t> entropy;   // seeds of requests that give none; absent: from the system
  // Sees every step after its forward pass and before its tokens are accepted (--log-steps, proofs); the engine's thread.
  using OnStep = std::function<void(const Plan& plan, const StepLogits& logits, const kv::KvCache& kv)>;
  OnStep on_step;
};

struct EngineStats {
  int running = 0;             // sequences
  int waiting = 0;             // requests not yet running, and preempted sequences
  int64_t kv_used_blocks = 0;  // of the fullest group
  int64_t kv_total_blocks = 0;
  int64_t kv_bytes = 0;  // allocated
  int max_context = 0;   // tokens one sequence may reach
  int64_t steps = 0;
  int64_t rows = 0;
  int64_t prompt_tokens = 0;  // computed, recomputation included
  int64_t generated_tokens = 0;
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;  // lost to preemptions
  int64_t finished[4] = {};       // requests by FinishReason
};

class Engine {
 public:
  // tokenizer may be null: events then carry ids without text, and nothing but lengths and ids ends a choice.
  // Errors: kInvalidArgument names the option; kOutOfMemory when the KV budget does not hold one sequence of
  // max_context.
  static Result<std::unique_ptr<Engine>> create(model::Model& model, const tokenizer::Tokenizer* tokenizer,
                                                EngineOptions options, telemetry::Metrics* metrics = nullptr,
                                                const Clock& clock = Clock::steady());
  ~Engine();  // stop()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Errors: kInvalidArgument names the field, kContextLengthExceeded, kOverloaded, kUnavailable while draining. The
  // sink is not called then. Otherwise it gets its events, the last being on_end, whatever happens.
  Result<RequestId> submit(GenerateRequest request, std::shared_ptr<EventSink> sink);
  // Ends the request with FinishReason::kAbort at the next step. Unknown and finished ids are ignored.
  void abort(RequestId id);

  // One step by the caller's thread; false when there was nothing to do. Not while the loop runs.
  bool step();

  // start, drain and stop: one thread at a time calls them, whoever else submits meanwhile.
  void start();  // a thread that steps whenever there is work
  // Accepts nothing more and returns when everything accepted has ended, or after `patience` (false: some is left).
  bool drain(std::optional<Duration> patience = std::nullopt);
  void stop();  // aborts what is left and joins the thread

  EngineStats stats() const;
  // Tokens a sequence may reach: prompt + max_tokens.
  int max_context() const;

 private:
  struct State;
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace brio::engine
