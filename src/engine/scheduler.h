// Scheduler: who computes what in the next step. Owns requests and their sequences from acceptance to their last event.
// The engine's thread.
//
//   const Plan& plan = scheduler.plan(now);       // which rows, under a budget; admits, preempts, reserves
//   ... kv.begin, run, sample ...
//   scheduler.commit(plan, samples, now);         // accepts tokens, checks stops, emits events
//
// There is no prefill phase and no decode phase: every step lets each sequence's computed tokens catch up with its
// known ones. Order under the row budget: sequences with one token to compute (decodes), then the rest of half-done
// prompts in order of age, then admissions.
//
// Admission is first come, first served by age. It reserves the KV blocks of the whole prompt, and leaves one more per
// running sequence, so that decodes do not evict what was just admitted. A sequence that does not fit yet may be
// overtaken by younger ones that do, kMaxOvertakes times at most; then everybody waits for it. When blocks run out, a
// victim is preempted: the sequence with the least computed tokens per block gained, never the oldest (so the oldest
// always ends, and then the next is the oldest). It keeps its tokens, counts and text, and is computed again later. A
// step that preempts admits nobody.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/rng.h"
#include "engine/batching.h"
#include "engine/chunking.h"
#include "engine/sampler.h"
#include "engine/sequence.h"
#include "engine/step.h"
#include "kv/kv_cache.h"
#include "telemetry/metrics.h"

namespace brio::engine {

struct SchedulerOptions {
  int max_rows = 512;      // of a step; at least max_sequences
  int max_logits = 64;     // rows of a step with logits; at least max_sequences
  int max_sequences = 32;  // running at once, choices that a prompt will fork into included
  BatchingOptions batching;
  Chunking chunking;
  RandomPreemption random_preemption;
};

inline constexpr int kMaxOvertakes = 16;
inline constexpr int kMaxSkipped = 8;  // waiting sequences that one step looks past

class Scheduler {
 public:
  // What happened since the last step was planned; for metrics and stats.
  struct Tally {
    int prompt_tokens = 0;
    int generated_tokens = 0;
    int recomputed_tokens = 0;  // lost by preemption
    std::vector<double> inter_token_seconds;
  };

  Scheduler(kv::KvCache& kv, const SchedulerOptions& options, telemetry::Metrics* metrics);
  ~Scheduler();

  void add(std::unique_ptr<Request> request);  // its first choice exists and waits
  void abort(RequestId id, TimePoint now);     // unknown ids are ignored
  void abort_all(TimePoint now);
  void set_draining() { draining_ = true; }  // batches no longer wait to be full

  const Plan& plan(TimePoint now);
  void commit(const Plan& plan, const Samples& samples, TimePoint now);

  // When plan() may find work although nothing was added; absent: never.
  std::optional<TimePoint> next_deadline() const;
  int num_running() const { return static_cast<int>(running_.size()); }
  int num_waiting() const { return static_cast<int>(waiting_.size()); }
  int num_fresh() const { return num_fresh_; }  // requests that were never admitted
  int num_requests() const { return static_cast<int>(requests_.size()); }
  const Tally& tally() const { return tally_; }
  int64_t num_finished(FinishReason reason) const { return finished_[static_cast<size_t>(reason)]; }

  // Every sequence is where its state says, computed <= known, KV blocks are conserved. Any break is a CHECK.
  void check() const;

 private:
  // scheduler.cc: planning
  void reserve_running();
  Sequence* pick_victim() const;
  void preempt(Sequence& victim);
  void preempt_at_random();
  void allot_running();
  void allot(Sequence& sequence);
  int chunk_limit(int pending);
  int row_budget();
  int up_to_chunk_size();
  void admit(TimePoint now);
  int admit_up_to(int quota, TimePoint now);
  bool fits(const Sequence& sequence) const;
  void start(Sequence& sequence, TimePoint now);
  BatchPolicy::Queue queue() const;
  int load() const;  // running sequences, future forks included

  // scheduler_commit.cc: results
  void advance(const Chunk& chunk, const Plan& plan, TimePoint now);
  void accept_scores(const std::vector<PromptScore>& scores, TimePoint now);
  void fork(Sequence& root);
  void accept(Sequence& sequence, const Draw& draw, TimePoint now);
  void end_choice(Sequence& sequence, ChoiceEnd end, TimePoint now);
  void end_request(Request& request, FinishReason reason, std::optional<Error> error, TimePoint now);
  void finish(Request& request, FinishReason reason, std::optional<Error> error, TimePoint now);
  void release(Sequence& sequence);
  void sweep();  // forgets what has ended

  kv::KvCache& kv_;
  SchedulerOptions options_;
  std::unique_ptr<BatchPolicy> policy_;
  telemetry::Metrics* metrics_;
  Rng chunk_rng_;
  Rng preemption_rng_;
  bool draining_ = false;

  std::unordered_map<RequestId, std::unique_ptr<Request>> requests_;
  std::vector<std::unique_ptr<Request>> ended_;  // until sweep(): a plan may still name their sequences
  std::vector<Sequence*> running_;               // by age: request, choice
  std::vector<Sequence*> waiting_;               // by age
  int num_fresh_ = 0;
  Plan plan_;
  Tally tally_;
  int64_t finished_[4] = {};
};

}  // namespace brio::engine
