#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "base/check.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "engine/admission.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"

namespace brio::engine {
namespace {

#ifdef NDEBUG
constexpr bool kAlwaysCheck = false;
#else
constexpr bool kAlwaysCheck = true;
#endif

uint64_t system_entropy() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

SchedulerOptions scheduler_options(const EngineOptions& options, const model::Limits& limits) {
  return {options.max_rows, limits.max_logits, options.max_sequences,
          options.batching, options.chunking,  options.random_preemption};
}

}  // namespace

struct Engine::State {
  State(model::Model& model, const tokenizer::Tokenizer* tokenizer, EngineOptions given,
        std::unique_ptr<kv::KvCache> cache, telemetry::Metrics* metrics, const Clock& clock)
      : options(std::move(given)),
        tokenizer(tokenizer),
        metrics(metrics),
        clock(clock),
        kv(std::move(cache)),
        scheduler(*kv, scheduler_options(options, model.limits()), metrics),
        runner(model, *kv),
        entropy(options.entropy ? *options.entropy : system_entropy()) {
    limits.context = options.max_context;
    limits.kv_tokens = kv->max_tokens();
    limits.vocab = model.config().vocab;
    limits.max_sequences = options.max_sequences;
    limits.has_text = tokenizer != nullptr;
  }

  // All but the identity: what depends on its length is done outside the lock.
  std::unique_ptr<Request> make_request(GenerateRequest&& spec, std::shared_ptr<EventSink> sink, int max_tokens) const;
  void identify(Request& request, RequestId id) const;  // id, and the seed where none was asked for
  bool reap();
  bool step();
  void observe(const Plan& plan, Duration duration);
  void update_stats();
  void loop();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  bool has_mail() const { return !inbox.empty() || !aborts.empty() || flush; }

  EngineOptions options;
  const tokenizer::Tokenizer* tokenizer;
  telemetry::Metrics* metrics;
  const Clock& clock;
  AdmissionLimits limits;

  // The stepping thread's.
  std::unique_ptr<kv::KvCache> kv;
  Scheduler scheduler;
  Runner runner;
  Sampler sampler;
  uint64_t entropy;

  // Shared; under the mutex.
  mutable std::mutex mutex;
  std::condition_variable mail;  // there is something to reap, or stopping
  std::condition_variable idle;  // a step has ended
  std::vector<std::unique_ptr<Request>> inbox;
  std::vector<RequestId> aborts;
  bool flush = false;  // draining has begun and the scheduler does not know
  bool draining = false;
  bool stopping = false;
  RequestId next_id = 1;
  int64_t not_running = 0;  // accepted requests that were never admitted
  int64_t unfinished = 0;   // accepted requests without their last event
  EngineStats stats;
  std::thread thread;
};

Result<std::unique_ptr<Engine>> Engine::create(model::Model& model, const tokenizer::Tokenizer* tokenizer,
                                               EngineOptions options, telemetry::Metrics* metrics, const Clock& clock) {
  const model::Limits& limits = model.limits();
  if (options.max_rows == 0) options.max_rows = limits.max_rows;
  if (options.max_rows < 1 || options.max_rows > limits.max_rows) {
    return error(ErrorCode::kInvalidArgument, "max_rows is {}, allowed is 1 to {} (the model's rows of a step)",
                 options.max_rows, limits.max_rows);
  }
  const int most = std::min(options.max_rows, limits.max_logits);
  if (options.max_sequences < 1 || options.max_sequences > most) {
    return error(ErrorCode::kInvalidArgument, "max_sequences is {}, allowed is 1 to {} (the rows and logits of a step)",
                 options.max_sequences, most);
  }
  if (options.max_context == 0) options.max_context = model.config().context;
  if (options.max_context < 2) return error(ErrorCode::kInvalidArgument, "a context of {} tokens", options.max_context);
  if (options.max_waiting < 1) return error(ErrorCode::kInvalidArgument, "max_waiting is {}", options.max_waiting);
  const BatchingOptions& batching = options.batching;
  if (batching.mode != BatchingMode::kContinuous && (batching.size < 1 || batching.size > options.max_sequences)) {
    return error(ErrorCode::kInvalidArgument, "a batch of {} requests, allowed is 1 to max_sequences, {}",
                 batching.size, options.max_sequences);
  }
  if (options.chunking.kind != Chunking::Kind::kBudget && options.chunking.size < 1) {
    return error(ErrorCode::kInvalidArgument, "a chunk of {} tokens", options.chunking.size);
  }
  const std::vector<tensor::KvSpec> specs = model.kv_specs();
  kv::KvOptions kv_options;
  kv_options.device = model.ops().device();
  kv_options.demand = {options.max_context, options.max_sequences, options.max_rows, options.kv_bytes};
  kv_options.blocks_per_group = options.kv_blocks;
  kv_options.poison = options.poison_freed_blocks ? kv::Poison::kYes : kv::Poison::kNo;
  BRIO_TRY(std::unique_ptr<kv::KvCache> kv, kv::KvCache::create(specs, kv_options));
  auto state = std::make_unique<State>(model, tokenizer, std::move(options), std::move(kv), metrics, clock);
  state->update_stats();
  return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}

Engine::~Engine() {
  stop();
}

void Engine::State::identify(Request& request, RequestId id) const {
  request.id = id;
  const auto drawn = philox({static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32), 0, 0},
                            {static_cast<uint32_t>(entropy), static_cast<uint32_t>(entropy >> 32)});
  request.seed = request.spec.sampling.seed.value_or((uint64_t{drawn[0]} << 32) | drawn[1]);
}

std::unique_ptr<Request> Engine::State::make_request(GenerateRequest&& spec, std::shared_ptr<EventSink> sink,
                                                     int max_tokens) const {
  auto request = std::make_unique<Request>();
  request->spec = std::move(spec);
  request->sink = std::move(sink);
  request->max_tokens = max_tokens;
  request->stop_ids = request->spec.stop_token_ids;
  if (!request->spec.ignore_eos && tokenizer != nullptr) {
    const std::span<const int32_t> ends = tokenizer->end_of_generation_ids();
    request->stop_ids.insert(request->stop_ids.end(), ends.begin(), ends.end());
  }
  std::sort(request->stop_ids.begin(), request->stop_ids.end());
  request->usage.prompt_tokens = static_cast<int>(request->spec.prompt.size());
  request->timeline.queued = clock.now();
  request->timeline.arrival =
      request->spec.arrival == TimePoint{} ? request->timeline.queued : std::exchange(request->spec.arrival, {});

  auto sequence = std::make_unique<Sequence>(
      Sequence{.text = TextStream(tokenizer, request->spec.stop, request->spec.shown_tokens)});
  sequence->request = request.get();
  sequence->fan_out = request->spec.n;
  sequence->tokens = std::move(request->spec.prompt);
  sequence->num_prompt = request->usage.prompt_tokens;
  if (has_penalties(request->spec.sampling)) {
    for (int32_t token : sequence->tokens) sequence->counts.add_prompt(token);
  }
  if (request->spec.grammar) sequence->matcher.emplace(request->spec.grammar);
  request->choices.push_back(std::move(sequence));
  return request;
}

Result<RequestId> Engine::submit(GenerateRequest request, std::shared_ptr<EventSink> sink) {
  State& s = *state_;
  const Result<int> max_tokens = admit(request, s.limits);
  if (!max_tokens.ok()) return max_tokens.error();
  std::unique_ptr<Request> made = s.make_request(std::move(request), std::move(sink), *max_tokens);
  RequestId id = 0;
  {
    const std::lock_guard lock(s.mutex);
    if (s.draining || s.stopping) return error(ErrorCode::kUnavailable, "the engine is shutting down");
    if (s.not_running >= s.options.max_waiting) {
      return error(ErrorCode::kOverloaded, "{} requests are waiting, the most is {}", s.not_running,
                   s.options.max_waiting);
    }
    id = s.next_id++;
    ++s.not_running;
    ++s.unfinished;
    s.identify(*made, id);
    s.inbox.push_back(std::move(made));
  }
  s.mail.notify_one();
  return id;
}

void Engine::abort(RequestId id) {
  {
    const std::lock_guard lock(state_->mutex);
    if (id < state_->next_id) state_->aborts.push_back(id);  // one that is not given yet may be before the next step
  }
  state_->mail.notify_one();
}

// Takes what other threads left: new requests, then aborts (which may name them).
bool Engine::State::reap() {
  std::vector<std::unique_ptr<Request>> arrived;
  std::vector<RequestId> aborted;
  {
    const std::lock_guard lock(mutex);
    arrived.swap(inbox);
    aborted.swap(aborts);
    if (std::exchange(flush, false)) scheduler.set_draining();
  }
  for (auto& request : arrived) scheduler.add(std::move(request));
  for (RequestId id : aborted) scheduler.abort(id, clock.now());
  return !arrived.empty() || !aborted.empty();
}

bool Engine::State::step() {
  const bool changed = reap();
  const Plan& plan = scheduler.plan(clock.now());
  if (plan.empty()) {
    if (changed) {
      update_stats();
      if (metrics != nullptr) metrics->observe_idle(scheduler.num_waiting());
    }
    const std::lock_guard lock(mutex);
    return has_mail();  // from a sink, while aborts were told
  }
  set_float_mode();  // of the sampler's thread too (DESIGN R9)
  kv->begin(plan.sequences);
  const StepLogits logits = runner.run(plan);
  if (options.on_step) options.on_step(plan, logits, *kv);
  const Samples& samples = sampler.sample(plan, logits);
  scheduler.commit(plan, samples, clock.now());
  if (kAlwaysCheck || options.check_invariants) scheduler.check();
  observe(plan, clock.now() - plan.started);
  update_stats();
  return true;
}

void Engine::State::observe(const Plan& plan, Duration duration) {
  const Scheduler::Tally& tally = scheduler.tally();
  {
    const std::lock_guard lock(mutex);
    stats.steps = plan.number;
    stats.rows += static_cast<int64_t>(plan.rows.size());
    stats.prompt_tokens += tally.prompt_tokens;
    stats.generated_tokens += tally.generated_tokens;
    stats.preemptions += static_cast<int64_t>(plan.preempted.size());
    stats.recomputed_tokens += tally.recomputed_tokens;
  }
  if (metrics == nullptr) return;
  metrics->observe_step({static_cast<int>(plan.rows.size()), static_cast<int>(plan.chunks.size()), tally.prompt_tokens,
                         tally.generated_tokens, static_cast<int>(plan.preempted.size()), scheduler.num_running(),
                         scheduler.num_waiting(), kv->use(), duration, tally.inter_token_seconds});
  if (scheduler.num_running() == 0) metrics->observe_idle(scheduler.num_waiting());
}

void Engine::State::update_stats() {
  const std::lock_guard lock(mutex);
  stats.running = scheduler.num_running();
  stats.waiting = scheduler.num_waiting() + static_cast<int>(inbox.size());
  double fullest = -1.0;
  for (int group = 0; group < kv->num_groups(); ++group) {
    const kv::BlockPool& pool = kv->pool(group);
    const int64_t used = pool.num_blocks() - pool.num_free();
    const double use = static_cast<double>(used) / pool.num_blocks();
    if (use <= fullest) continue;
    fullest = use;
    stats.kv_used_blocks = used;
    stats.kv_total_blocks = pool.num_blocks();
  }
  stats.kv_bytes = kv->size_bytes();
  stats.max_context = std::min(limits.context, limits.kv_tokens);
  for (size_t i = 0; i < std::size(stats.finished); ++i) {
    stats.finished[i] = scheduler.num_finished(static_cast<FinishReason>(i));
  }
  not_running = scheduler.num_fresh() + static_cast<int64_t>(inbox.size());
  unfinished = scheduler.num_requests() + static_cast<int64_t>(inbox.size());
  idle.notify_all();
}

bool Engine::step() {
  BRIO_DCHECK(!state_->thread.joinable(), "the loop is stepping");
  return state_->step();
}

void Engine::start() {
  BRIO_CHECK(!state_->thread.joinable(), "started twice");
  state_->thread = std::thread([this] { state_->loop(); });
}

void Engine::State::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto woken = [&] { return stopping || has_mail(); };
  if (const std::optional<TimePoint> deadline = scheduler.next_deadline()) {
    mail.wait_until(lock, *deadline, woken);
  } else {
    mail.wait(lock, woken);
  }
}

void Engine::State::loop() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    const bool stepped = step();
    lock.lock();
    if (!stepped && !stopping) wait_for_work(lock);
  }
}

bool Engine::drain(std::optional<Duration> patience) {
  State& s = *state_;
  const TimePoint limit = s.clock.now() + patience.value_or(Duration{});
  std::unique_lock lock(s.mutex);
  s.draining = true;
  s.flush = true;
  if (s.thread.joinable()) {
    s.mail.notify_one();
    const auto done = [&] { return s.unfinished == 0; };
    if (patience) return s.idle.wait_for(lock, *patience, done);
    s.idle.wait(lock, done);
    return true;
  }
  while (s.unfinished > 0 && !(patience && s.clock.now() >= limit)) {
    lock.unlock();
    s.step();
    lock.lock();
  }
  return s.unfinished == 0;
}

void Engine::stop() {
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    s.stopping = true;
  }
  s.mail.notify_one();
  if (s.thread.joinable()) s.thread.join();
  s.reap();
  s.scheduler.abort_all(s.clock.now());
  s.update_stats();
}

EngineStats Engine::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stats;
}

int Engine::max_context() const {
  return std::min(state_->limits.context, state_->limits.kv_tokens);
}

}  // namespace brio::engine
