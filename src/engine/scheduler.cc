#include "engine/scheduler.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace brio::engine {
namespace {

bool older(const Sequence* a, const Sequence* b) {
  return std::tie(a->request->id, a->choice) < std::tie(b->request->id, b->choice);
}

void insert_by_age(std::vector<Sequence*>& sequences, Sequence& sequence) {
  sequences.insert(std::upper_bound(sequences.begin(), sequences.end(), &sequence, older), &sequence);
}

bool may_not_be_overtaken(const Sequence* sequence) {
  return sequence->overtaken >= kMaxOvertakes;
}

bool is_fresh(const Sequence& sequence) {
  return !sequence.request->admitted;
}

}  // namespace

Scheduler::Scheduler(kv::KvCache& kv, const SchedulerOptions& options, telemetry::Metrics* metrics)
    : kv_(kv),
      options_(options),
      policy_(make_batch_policy(options.batching)),
      metrics_(metrics),
      chunk_rng_(options.chunking.seed),
      preemption_rng_(options.random_preemption.seed) {}

Scheduler::~Scheduler() = default;

void Scheduler::add(std::unique_ptr<Request> request) {
  ++num_fresh_;
  insert_by_age(waiting_, *request->choices[0]);
  requests_.emplace(request->id, std::move(request));
}

const Plan& Scheduler::plan(TimePoint now) {
  sweep();
  tally_ = {};
  plan_.start(now);
  plan_.max_rows = row_budget();
  reserve_running();
  preempt_at_random();
  allot_running();
  admit(now);
  if (!plan_.empty()) ++plan_.number;
  return plan_;
}

// Every running sequence gets the blocks of all it knows, oldest first; nothing is planned yet, so any other may be the
// victim. Prompts have theirs since admission: this asks for more only where a decode enters a new block.
void Scheduler::reserve_running() {
  for (size_t i = 0; i < running_.size();) {
    Sequence& sequence = *running_[i];
    if (kv_.reserve(sequence.kv, sequence.computed, sequence.known())) {
      ++i;
      continue;
    }
    Sequence* victim = pick_victim();
    const size_t index = static_cast<size_t>(std::find(running_.begin(), running_.end(), victim) - running_.begin());
    preempt(*victim);
    if (index < i) --i;
  }
}

Sequence* Scheduler::pick_victim() const {
  BRIO_CHECK(running_.size() > 1, "request {} was admitted but does not fit alone", running_[0]->request->id);
  Sequence* best = nullptr;
  int64_t best_lost = 0;
  int64_t best_gained = 0;
  for (size_t i = running_.size(); i-- > 1;) {  // youngest first; it wins ties
    Sequence* candidate = running_[i];
    const int64_t lost = candidate->computed + 1;
    const int64_t gained = kv_.reclaimable_blocks(candidate->kv);
    // lost / gained < best_lost / best_gained, where nothing gained counts as infinitely dear
    if (best == nullptr || lost * best_gained < best_lost * gained) {
      best = candidate;
      best_lost = lost;
      best_gained = gained;
    }
  }
  return best;
}

void Scheduler::preempt(Sequence& victim) {
  plan_.preempted.push_back(victim.request->id);
  tally_.recomputed_tokens += victim.computed;
  ++victim.request->timeline.preemptions;
  kv_.close(victim.kv);
  victim.kv = -1;
  victim.computed = 0;
  victim.state = Sequence::State::kWaiting;
  running_.erase(std::find(running_.begin(), running_.end(), &victim));
  insert_by_age(waiting_, victim);
}

void Scheduler::preempt_at_random() {
  const int one_in = options_.random_preemption.one_in;
  if (one_in == 0 || running_.size() < 2 || preemption_rng_.below(static_cast<uint32_t>(one_in)) != 0) return;
  preempt(*running_[1 + preemption_rng_.below(static_cast<uint32_t>(running_.size() - 1))]);
}

void Scheduler::allot_running() {
  for (Sequence* sequence : running_) {
    if (sequence->pending() == 1) allot(*sequence);
  }
  for (Sequence* sequence : running_) {
    if (sequence->pending() > 1) allot(*sequence);
  }
}

// The sequence's chunk of this step: as much as the row budget, the logits budget and the chunking leave.
void Scheduler::allot(Sequence& sequence) {
  const Request& request = *sequence.request;
  const int begin = sequence.computed;
  const int rows_left = plan_.max_rows - static_cast<int>(plan_.rows.size());
  const int logits_left = options_.max_logits - plan_.num_logits;
  int end = begin + std::min({sequence.pending(), rows_left, chunk_limit(sequence.pending())});
  // Logits: of the last known token, to continue it; of earlier ones only where the prompt is scored.
  const bool scores = request.scores_prompt() && request.scored < sequence.num_prompt - 1;
  const int logits_begin = std::clamp(scores ? request.scored : sequence.known() - 1, begin, end);
  int logits_end = std::clamp(sequence.generates() ? sequence.known() : sequence.known() - 1, logits_begin, end);
  if (logits_end - logits_begin > logits_left) end = logits_end = logits_begin + logits_left;
  if (end > begin) plan_.add({&sequence, begin, end, logits_begin, logits_end, 0});
}

int Scheduler::chunk_limit(int pending) {
  const Chunking& chunking = options_.chunking;
  if (pending > 1 && chunking.kind == Chunking::Kind::kFixed) return chunking.size;
  if (pending > 1 && chunking.kind == Chunking::Kind::kRandom) return up_to_chunk_size();
  return pending;
}

int Scheduler::row_budget() {
  const bool random = options_.chunking.kind == Chunking::Kind::kRandomBudget;
  return random ? std::min(options_.max_rows, up_to_chunk_size()) : options_.max_rows;
}

int Scheduler::up_to_chunk_size() {
  return 1 + static_cast<int>(chunk_rng_.below(static_cast<uint32_t>(options_.chunking.size)));
}

BatchPolicy::Queue Scheduler::queue() const {
  BatchPolicy::Queue queue;
  queue.waiting = num_fresh_;
  queue.running = num_running() + num_waiting() - num_fresh_;
  queue.draining = draining_;
  const auto first = std::find_if(waiting_.begin(), waiting_.end(), [](const Sequence* s) { return is_fresh(*s); });
  if (first != waiting_.end()) queue.oldest = (*first)->request->timeline.queued;
  return queue;
}

std::optional<TimePoint> Scheduler::next_deadline() const {
  return policy_->deadline(queue());
}

int Scheduler::load() const {
  int load = 0;
  for (const Sequence* sequence : running_) load += sequence->fan_out;
  return load;
}

bool Scheduler::fits(const Sequence& sequence) const {
  if (load() + sequence.fan_out > options_.max_sequences) return false;
  return kv_.fits(sequence.known(), running_.empty() ? 0 : num_running() + sequence.fan_out - 1);
}

void Scheduler::admit(TimePoint now) {
  if (!plan_.preempted.empty() || waiting_.empty()) return;
  const int offered = policy_->admissions(queue(), now);
  const int left = admit_up_to(offered, now);
  if (left < offered) policy_->admitted(offered - left);
}

// Admits from the oldest on: preempted sequences, and up to `quota` fresh requests. Returns what is left of the quota.
int Scheduler::admit_up_to(int quota, TimePoint now) {
  std::vector<Sequence*> passed_over;
  for (size_t i = 0; i < waiting_.size();) {
    Sequence& sequence = *waiting_[i];
    const bool fresh = is_fresh(sequence);
    const bool rows_left = static_cast<int>(plan_.rows.size()) < plan_.max_rows;
    if (!rows_left && !(fresh && policy_->starts_whole())) break;
    if (fresh && quota == 0) {
      ++i;
      continue;
    }
    if (!fits(sequence)) {
      passed_over.push_back(&sequence);
      if (passed_over.size() > kMaxSkipped) break;
      ++i;
      continue;
    }
    if (std::any_of(passed_over.begin(), passed_over.end(), may_not_be_overtaken)) break;
    for (Sequence* passed : passed_over) ++passed->overtaken;
    quota -= fresh ? 1 : 0;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    start(sequence, now);
  }
  return quota;
}

void Scheduler::start(Sequence& sequence, TimePoint now) {
  Request& request = *sequence.request;
  if (is_fresh(sequence)) {
    request.admitted = true;
    request.timeline.scheduled = now;
    --num_fresh_;
  }
  sequence.overtaken = 0;
  sequence.kv = kv_.open();
  BRIO_CHECK(kv_.reserve(sequence.kv, 0, sequence.known()), "request {}: {} tokens", request.id, sequence.known());
  sequence.state = Sequence::State::kRunning;
  insert_by_age(running_, sequence);
  plan_.admitted.push_back(request.id);
  allot(sequence);
}

void Scheduler::check() const {
  kv_.check();
  int fresh = 0;
  for (const Sequence* s : waiting_) {
    BRIO_CHECK(s->state == Sequence::State::kWaiting && s->computed == 0 && s->kv < 0, "request {}", s->request->id);
    fresh += is_fresh(*s) ? 1 : 0;
  }
  BRIO_CHECK(fresh == num_fresh_, "{} fresh, {} counted", fresh, num_fresh_);
  for (const Sequence* s : running_) {
    BRIO_CHECK(s->state == Sequence::State::kRunning && s->kv >= 0, "request {}", s->request->id);
    BRIO_CHECK(s->computed <= s->known(), "request {}: {} of {}", s->request->id, s->computed, s->known());
    BRIO_CHECK(requests_.contains(s->request->id), "request {} has ended", s->request->id);
  }
  BRIO_CHECK(std::is_sorted(running_.begin(), running_.end(), older) &&
             std::is_sorted(waiting_.begin(), waiting_.end(), older));
  BRIO_CHECK(static_cast<int>(plan_.rows.size()) <= plan_.max_rows && plan_.num_logits <= options_.max_logits,
             "{} rows, {} logits", plan_.rows.size(), plan_.num_logits);
}

}  // namespace brio::engine
