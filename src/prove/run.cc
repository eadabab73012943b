#include "prove/run.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/sequence.h"
#include "prove/texts.h"

namespace brio::prove {
namespace {

using engine::Chunk;
using engine::RequestId;

constexpr int kMostIdleTicks = 1000;

Digest digest_of(std::span<const float> logits) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(logits.data()), logits.size_bytes(), digest.data());
  return digest;
}

class Run {
 public:
  Run(TracedModel& model, std::span<const Text> texts, std::span<Answers> answers, const Setup& setup,
      const Traced& traced)
      : model_(model), texts_(texts), answers_(answers), setup_(setup), traced_(traced) {}

  Outcome go();

 private:
  struct State {
    RequestId id = 0;
    bool submitted = false;
    bool recording = false;  // nothing to compare with yet
    bool ended = false;
    bool computed = false;  // in some step
    int tokens = 0;
    int preemptions = 0;
    std::vector<int> generated;  // per choice
  };
  class Sink;

  const Text& text(size_t visit) const { return texts_[static_cast<size_t>(setup_.visits[visit].text)]; }
  Answers& answers(size_t visit) { return answers_[static_cast<size_t>(setup_.visits[visit].text)]; }
  int prompt_length(size_t visit) const { return static_cast<int>(text(visit).prompt.size()); }
  // Tokens of the answer that its visit is given.
  int num_given(size_t visit) const { return is_verified(visit) ? text(visit).max_tokens - 1 : 0; }
  bool is_verified(size_t visit) const { return setup_.visits[visit].verified >= 0; }
  int num_choices(size_t visit) const { return is_verified(visit) ? 1 : text(visit).n; }
  // The choice of the text that a choice of the request answers.
  int choice_of(size_t visit, int choice) const { return is_verified(visit) ? setup_.visits[visit].verified : choice; }
  int blocks_of(size_t visit) const;
  engine::EngineOptions options();
  engine::GenerateRequest request(size_t visit);
  void submit(size_t visit);
  void send_visitors(int tick);
  void differ(Difference difference);

  void on_step(const engine::Plan& plan, const engine::StepLogits& logits, const kv::KvCache& kv);
  void compare(size_t visit, const Chunk& chunk, const engine::StepLogits& logits);
  void observe(const engine::Plan& plan, const kv::KvCache& kv);
  void observe_blocks(const kv::BlockTable& table, const kv::BlockPool& pool, RequestId owner);
  void on_token(size_t visit, const engine::TokenEvent& event);
  void on_end(size_t visit, const engine::RequestEnd& event);

  TracedModel& model_;
  std::span<const Text> texts_;
  std::span<Answers> answers_;
  const Setup& setup_;
  Traced traced_;
  VirtualClock clock_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<State> states_;
  std::unordered_map<RequestId, size_t> visit_of_;
  std::unordered_map<kv::BlockId, RequestId> last_owner_;  // in the first group
  std::set<RequestId> previous_;                           // requests of the step before
  Outcome outcome_;
};

class Run::Sink final : public engine::EventSink {
 public:
  Sink(Run& run, size_t visit) : run_(run), visit_(visit) {}
  void on_token(const engine::TokenEvent& event) override { run_.on_token(visit_, event); }
  void on_choice_end(const engine::ChoiceEnd&) override {}
  void on_end(const engine::RequestEnd& event) override { run_.on_end(visit_, event); }

 private:
  Run& run_;
  size_t visit_;
};

int Run::blocks_of(size_t visit) const {
  const int tokens = prompt_length(visit) + text(visit).max_tokens;
  return (tokens + tensor::kBlockTokens - 1) / tensor::kBlockTokens * num_choices(visit) + 1;
}

engine::EngineOptions Run::options() {
  engine::EngineOptions options;
  int longest = 0;
  int all_blocks = 0;
  int most_blocks = 0;
  for (size_t v = 0; v < setup_.visits.size(); ++v) {
    longest = std::max(longest, prompt_length(v) + text(v).max_tokens + 1);
    all_blocks += blocks_of(v);
    most_blocks = std::max(most_blocks, blocks_of(v));
  }
  options.max_context = std::max(longest, 2);
  options.max_rows = setup_.max_rows;
  options.max_sequences = setup_.max_sequences;
  options.kv_blocks = setup_.scarce_blocks ? most_blocks + 2 : all_blocks + 2;
  options.batching = setup_.batching;
  options.chunking = setup_.chunking;
  options.random_preemption = setup_.preemption;
  options.poison_freed_blocks = true;
  options.check_invariants = true;
  options.entropy = 0;
  options.on_step = [this](const engine::Plan& plan, const engine::StepLogits& logits, const kv::KvCache& kv) {
    on_step(plan, logits, kv);
  };
  return options;
}

engine::GenerateRequest Run::request(size_t visit) {
  const Text& text = this->text(visit);
  engine::GenerateRequest request;
  request.prompt = text.prompt;
  request.sampling = text.sampling;
  if (setup_.visits[visit].unseeded) request.sampling.seed.reset();
  request.n = num_choices(visit);
  request.max_tokens = text.max_tokens - num_given(visit);
  request.ignore_eos = true;
  if (setup_.visits[visit].scored || is_verified(visit)) request.prompt_logprobs = 0;
  if (is_verified(visit)) {
    const std::vector<int32_t>& tokens = answers(visit)[static_cast<size_t>(choice_of(visit, 0))].tokens;
    request.prompt.insert(request.prompt.end(), tokens.begin(), tokens.begin() + num_given(visit));
  }
  return request;
}

void Run::submit(size_t visit) {
  State& state = states_[visit];
  state.submitted = true;
  state.recording = answers(visit).empty();
  state.generated.assign(static_cast<size_t>(num_choices(visit)), num_given(visit));
  if (state.recording) answers(visit).resize(static_cast<size_t>(text(visit).n));
  const Result<RequestId> id = engine_->submit(request(visit), std::make_shared<Sink>(*this, visit));
  if (!id.ok()) {
    state.ended = true;
    return differ({Difference::Kind::kError, static_cast<int>(visit), 0, 0, id.error().message});
  }
  state.id = *id;
  visit_of_[*id] = visit;
}

void Run::send_visitors(int tick) {
  for (size_t v = 0; v < setup_.visits.size(); ++v) {
    const Visit& visit = setup_.visits[v];
    if (!states_[v].submitted && visit.arrival <= tick) submit(v);
    if (states_[v].submitted && !states_[v].ended && visit.abort_after >= 0 &&
        visit.arrival + visit.abort_after <= tick) {
      engine_->abort(states_[v].id);
    }
  }
}

void Run::differ(Difference difference) {
  if (!outcome_.difference) outcome_.difference = std::move(difference);
}

void Run::compare(size_t visit, const Chunk& chunk, const engine::StepLogits& logits) {
  for (int position = chunk.logits_begin; position < chunk.logits_end; ++position) {
    const bool in_prompt = position < prompt_length(visit);  // computed once, for the first choice
    if (!in_prompt && setup_.visits[visit].unseeded) return;
    const int choice = in_prompt ? 0 : choice_of(visit, chunk.sequence->choice);
    Answer& answer = answers(visit)[static_cast<size_t>(choice)];
    const Digest digest = digest_of(logits.row(chunk.first_logits + position - chunk.logits_begin));
    if (states_[visit].recording) answer.logits.emplace(position, digest);
    ++outcome_.positions;
    const auto expected = answer.logits.find(position);
    if (expected == answer.logits.end() || expected->second != digest) {
      return differ({Difference::Kind::kLogits, static_cast<int>(visit), choice, position, {}});
    }
  }
}

void Run::observe_blocks(const kv::BlockTable& table, const kv::BlockPool& pool, RequestId owner) {
  Evidence& seen = outcome_.evidence;
  int steps_up = 0;
  int steps_down = 0;
  int neighbours = 0;
  for (int b = table.first_held(); b < table.size(); ++b) {
    if (pool.references(table[b]) > 1) {
      ++seen.shared_blocks;
    } else if (const auto [last, is_new] = last_owner_.try_emplace(table[b], owner); !is_new && last->second != owner) {
      ++seen.reused_blocks;
      last->second = owner;
    }
    if (b == table.first_held()) continue;
    ++neighbours;
    steps_up += table[b] == table[b - 1] + 1 ? 1 : 0;
    steps_down += table[b] == table[b - 1] - 1 ? 1 : 0;
  }
  if (neighbours > 0 && steps_up < neighbours && steps_down < neighbours) ++seen.scattered_tables;
}

void Run::observe(const engine::Plan& plan, const kv::KvCache& kv) {
  Evidence& seen = outcome_.evidence;
  ++seen.steps;
  ++seen.isas[model_.device().isa()];
  const int rows = static_cast<int>(plan.rows.size());
  const int sequences = static_cast<int>(plan.chunks.size());
  seen.most_rows = std::max(seen.most_rows, rows);
  if (rows == plan.max_rows) seen.full_budgets.insert(rows);
  seen.most_sequences = std::max(seen.most_sequences, sequences);
  if (plan.num_decodes > 0 && plan.num_decodes < sequences) ++seen.mixed_steps;
  if (!plan.admitted.empty()) ++seen.admitted_at_once[static_cast<int>(plan.admitted.size())];
  std::set<RequestId> present;
  int first_row = 0;
  for (size_t c = 0; c < plan.chunks.size(); ++c) {
    const Chunk& chunk = plan.chunks[c];
    const RequestId id = chunk.sequence->request->id;
    present.insert(id);
    seen.places.insert(first_row);
    first_row += chunk.num_rows();
    if (chunk.num_rows() > 1) ++seen.chunks[chunk.num_rows()];
    const size_t visit = visit_of_.at(id);
    states_[visit].computed = true;
    if (chunk.begin == 0 && chunk.end >= prompt_length(visit)) {
      seen.longest_whole_prompt = std::max(seen.longest_whole_prompt, prompt_length(visit));
    }
    if (engine::is_decode(chunk) && is_sampled(text(visit))) seen.drawn_rows.insert(chunk.first_logits);
    const int answer_begin = std::max(chunk.logits_begin, prompt_length(visit));
    if (num_given(visit) > 0 && chunk.logits_end - answer_begin > 1) {
      seen.verify_rows += chunk.logits_end - answer_begin;
    }
    observe_blocks(kv.table(0, plan.sequences[c]), kv.pool(0), id);
  }
  const auto others_stay = [&](RequestId but) {
    return std::any_of(present.begin(), present.end(),
                       [&](RequestId id) { return id != but && previous_.contains(id); });
  };
  for (const RequestId id : plan.admitted) seen.joins += others_stay(id) ? 1 : 0;
  for (const RequestId id : previous_) {
    if (!present.contains(id) && states_[visit_of_.at(id)].ended && others_stay(id)) ++seen.leaves;
  }
  for (const RequestId id : plan.preempted) {
    ++seen.preemptions;
    seen.most_preemptions = std::max<int64_t>(seen.most_preemptions, ++states_[visit_of_.at(id)].preemptions);
  }
  previous_ = std::move(present);
  seen.poisoned_blocks = kv.num_poisoned();
}

void Run::on_step(const engine::Plan& plan, const engine::StepLogits& logits, const kv::KvCache& kv) {
  observe(plan, kv);
  int followed = -1;
  for (size_t c = 0; c < plan.chunks.size(); ++c) {
    const Chunk& chunk = plan.chunks[c];
    const size_t visit = visit_of_.at(chunk.sequence->request->id);
    const bool is_choice =
        choice_of(visit, chunk.sequence->choice) == traced_.choice || chunk.end <= prompt_length(visit);
    if (static_cast<int>(visit) == traced_.visit && is_choice) followed = static_cast<int>(c);
    compare(visit, chunk, logits);
  }
  if (traced_.trace != nullptr) traced_.trace->end_step(followed);
}

void Run::on_token(size_t visit, const engine::TokenEvent& event) {
  State& state = states_[visit];
  ++state.tokens;
  if (setup_.visits[visit].unseeded) {
    ++outcome_.evidence.unseeded_tokens;
    ++state.generated[static_cast<size_t>(event.choice)];
    return;
  }
  (is_sampled(text(visit)) ? outcome_.evidence.sampled_tokens : outcome_.evidence.greedy_tokens) += 1;
  const int choice = choice_of(visit, event.choice);
  std::vector<int32_t>& tokens = answers(visit)[static_cast<size_t>(choice)].tokens;
  const auto index = static_cast<size_t>(state.generated[static_cast<size_t>(event.choice)]++);
  if (state.recording) {
    tokens.push_back(event.token);
  } else if (is_verified(visit) && !goes_on_when_given(text(visit), choice)) {
    return;
  } else if (index >= tokens.size() || tokens[index] != event.token) {
    const int32_t before = index < tokens.size() ? tokens[index] : -1;
    differ({Difference::Kind::kToken, static_cast<int>(visit), choice, prompt_length(visit) + static_cast<int>(index),
            fmt::format("{} instead of {}", event.token, before)});
  }
}

void Run::on_end(size_t visit, const engine::RequestEnd& event) {
  State& state = states_[visit];
  state.ended = true;
  if (event.reason == engine::FinishReason::kAbort && setup_.visits[visit].abort_after >= 0) {
    for (const int generated : state.generated) outcome_.combinations += generated > num_given(visit) ? 1 : 0;
    if (state.tokens > 0) ++outcome_.evidence.aborted_decodes;
    if (state.tokens == 0 && state.computed) ++outcome_.evidence.aborted_prefills;
    return;
  }
  outcome_.combinations += setup_.visits[visit].unseeded ? 0 : num_choices(visit);
  if (event.reason != engine::FinishReason::kLength) {
    return differ({Difference::Kind::kError, static_cast<int>(visit), 0, 0,
                   fmt::format("ended by {}{}", name(event.reason), event.error ? ": " + event.error->message : "")});
  }
  if (!setup_.visits[visit].unseeded && is_sampled(text(visit)) && num_choices(visit) > 1 &&
      answers(visit)[0].tokens != answers(visit)[1].tokens) {
    ++outcome_.evidence.parted_choices;
  }
  outcome_.evidence.forks += num_choices(visit) - 1;
  for (const int generated : state.generated) {
    if (generated == text(visit).max_tokens) continue;
    differ({Difference::Kind::kError, static_cast<int>(visit), 0, 0,
            fmt::format("{} tokens instead of {}", generated, text(visit).max_tokens)});
  }
}

Outcome Run::go() {
  ProbeDevice& device = model_.device();
  device.choose(setup_.isa, setup_.threads);
  states_.resize(setup_.visits.size());
  auto created = engine::Engine::create(model_, nullptr, options(), nullptr, clock_);
  if (!created.ok()) {
    differ({Difference::Kind::kError, 0, 0, 0, created.error().message});
    return std::move(outcome_);
  }
  engine_ = std::move(created).value();
  ThreadPool& pool = device.pool(setup_.threads);
  std::vector<Duration> before;
  for (int worker = 1; worker < setup_.threads; ++worker) before.push_back(pool.cpu_time(worker));
  device.set_trace(traced_.trace);

  int idle = 0;
  for (int tick = 0; !outcome_.difference && idle < kMostIdleTicks; ++tick) {
    send_visitors(tick);
    clock_.advance(std::chrono::milliseconds(1));
    idle = engine_->step() ? 0 : idle + 1;
    const bool all_came = std::all_of(states_.begin(), states_.end(), [](const State& s) { return s.submitted; });
    if (!all_came) continue;
    if (std::all_of(states_.begin(), states_.end(), [](const State& s) { return s.ended; })) break;
    if (idle > 0 && setup_.batching.mode == engine::BatchingMode::kStatic)
      engine_->drain();  // a batch that never fills
  }
  for (size_t v = 0; v < states_.size(); ++v) {
    if (!states_[v].ended) differ({Difference::Kind::kError, static_cast<int>(v), 0, 0, "never ended"});
  }
  device.set_trace(nullptr);
  bool all_worked = true;
  for (int worker = 1; worker < setup_.threads; ++worker) {
    all_worked = all_worked && pool.cpu_time(worker) > before[static_cast<size_t>(worker - 1)];
  }
  if (all_worked) ++outcome_.evidence.threads[setup_.threads];
  engine_.reset();  // ends what a difference left
  return std::move(outcome_);
}

}  // namespace

Outcome run(TracedModel& model, std::span<const Text> texts, std::span<Answers> answers, const Setup& setup,
            const Traced& traced) {
  return Run(model, texts, answers, setup, traced).go();
}

}  // namespace brio::prove
