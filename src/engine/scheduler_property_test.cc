// Random histories on a virtual clock and the null device: whatever is asked, aborted and drained when, nothing is lost,
// no budget is exceeded, every answer is that of its request alone and nobody starves. testing/history.h says what a
// history is, testing/life.h and testing/witness.h check its events and its steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/testing/property.h"
#include "engine/engine.h"
#include "engine/testing/history.h"
#include "engine/testing/life.h"
#include "engine/testing/null_answer.h"
#include "engine/testing/stage.h"
#include "engine/testing/witness.h"

namespace brio::engine {
namespace {

using testing::Event;
using testing::Feature;
using testing::History;
using testing::Life;
using testing::Lives;
using testing::NullAnswer;
using testing::Stage;
using testing::Subject;
using testing::Verdict;
using testing::Witness;

const Subject kSubjects[] = {
    {"llama", "llama", {0, 0}, false, 25000},
    {"qwen2", "qwen2", {0}, false, 20000},
    {"qwen3_with_text", "qwen3", {0}, true, 10000},
    {"gemma3", "gemma3", {40, 40, 0}, false, 25000},
    {"gemma3_windows_only", "gemma3", {40, 24}, false, 20000},
};

// No starvation. When nobody submits any more and batches need not fill up (the engine drains, or time passes), every
// request has ended after so many steps:
//
//   sum over the choices q of unfinished requests:  w(q) and those of all younger choices + kMaxOvertakes H(q)
//
// w(q) = prompt + max_tokens is what q computes from nothing to its end, in rows. H(q) is the heaviest thing that can be
// admitted past q: the w of all choices of a younger request, or that of a younger choice of its own.
//
// 1. The oldest running sequence is never preempted and computes at least a row in every step. Decodes of others take
//    max_sequences - 1 rows and logits at most, and both budgets are at least max_sequences; what is left goes to half-
//    done prompts, oldest first. (The witness checks this in every step.)
// 2. Somebody runs: when nobody does, all blocks are free, and submission has refused what does not fit alone.
// 3. Let q be the oldest sequence that has not ended (with whole batches: of the batch that runs). Once q runs it is the
//    oldest that runs, so it ends within w(q) steps. While q waits, every step computes a row of the oldest that runs,
//    which is younger than q, and ran when q's turn came or was admitted past q. The former have no more than their w to
//    compute before they end or are preempted; the latter are kMaxOvertakes admissions, of H(q) rows each at most with
//    their forks. Every choice has one turn.
int64_t bound_on_steps(const std::vector<Life*>& live) {
  int64_t bound = 0;
  int64_t younger = 0;   // their w together
  int64_t heaviest = 0;  // of younger requests, all choices
  for (auto at = live.rbegin(); at != live.rend(); ++at) {
    const int64_t each = (*at)->num_prompt() + (*at)->max_tokens;
    for (int choice = (*at)->spec.n; choice-- > 0;) {
      const bool has_younger_choice = choice + 1 < (*at)->spec.n;
      bound += each + younger + kMaxOvertakes * std::max(heaviest, has_younger_choice ? each : 0);
      younger += each;
    }
    heaviest = std::max(heaviest, (*at)->spec.n * each);
  }
  return bound;
}

class Replay {
 public:
  Replay(Stage& stage, const History& history)
      : stage_(stage),
        options_(testing::options_of(history.setup)),
        drains_(history.setup.drains || options_.batching.mode == BatchingMode::kStatic),
        lives_(verdict_),
        witness_(options_, testing::logits_of(history.setup), lives_, verdict_) {
    clock_.advance(std::chrono::seconds(1));
    options_.on_step = [this](const Plan& plan, const StepLogits&, const kv::KvCache& kv) {
      witness_.on_step(plan, kv);
    };
    auto created = Engine::create(stage.model(testing::logits_of(history.setup)), stage.tokenizer.get(), options_,
                                  nullptr, clock_);
    if (!created.ok()) {
      verdict_.fail("{}", created.error().message);
      return;
    }
    engine_ = std::move(created).value();
    max_context_ = longest_alone();
    if (engine_->max_context() != max_context_)
      verdict_.fail("{} tokens fit, told are {}", max_context_, engine_->max_context());
  }

  std::string run(const std::vector<Event>& events) {
    for (size_t i = 0; i < events.size() && verdict_.ok(); ++i) happen(events[i]);
    if (verdict_.ok()) finish();
    for (Life& life : lives_.all()) {
      if (verdict_.ok()) check_answer(life);
    }
    note();
    return verdict_.wrong();
  }

 private:
  // Hands events on, and does what its request asked to be done from inside them.
  class Sink final : public EventSink {
   public:
    Sink(Replay& replay, Life& life, Event event) : replay_(replay), life_(life), event_(event) {}
    void on_prompt(RequestId, const PromptEvent& event) override {
      replay_.lives_.on_prompt(life_, event);
      if (aborts(0)) replay_.abort_inside(life_.id);
    }
    void on_token(const TokenEvent& event) override {
      replay_.lives_.on_token(life_, event);
      if (aborts(1) && life_.at(event.choice).tokens.size() == 3) replay_.abort_inside(life_.id);
    }
    void on_choice_end(const ChoiceEnd& event) override {
      replay_.lives_.on_choice_end(life_, event);
      if (aborts(2)) replay_.abort_inside(life_.id / 2 + 1);
    }
    void on_end(const RequestEnd& event) override {
      replay_.lives_.on_end(life_, event);
      if (event_.has(Feature::kFollowUp) && replay_.accepts_) replay_.submit_inside(event_);
    }

   private:
    bool aborts(int where) const { return event_.has(Feature::kAborts) && event_.length % 4 == where; }

    Replay& replay_;
    Life& life_;
    Event event_;
  };

  void happen(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kSubmit:
        submit(event);
        break;
      case Event::Kind::kCrowd:
        for (int i = 0; i <= event.choices; ++i) submit(event);
        break;
      case Event::Kind::kStep:
        for (int i = 0; i <= event.length && verdict_.ok(); ++i) step();
        break;
      case Event::Kind::kAbort:
        abort(event.length);
        break;
      case Event::Kind::kWait:
        clock_.advance(std::chrono::milliseconds(event.length));
        break;
      case Event::Kind::kDrain:
        drain();
        break;
    }
  }

  // By the definition: whether the blocks of every group hold `tokens`, where a window group holds the window before a
  // step's rows and those rows, at the worst alignment.
  bool fits_alone(int tokens) const {
    for (int window : stage_.subject.windows) {
      int blocks = (tokens + 31) / 32;
      if (window > 0) blocks = std::min(blocks, 1 + (window - 1 + options_.max_rows - 1 + 31) / 32);
      if (blocks > *options_.kv_blocks) return false;
    }
    return true;
  }
  int longest_alone() const {
    int tokens = options_.max_context > 0 ? options_.max_context : testing::kContext;
    while (!fits_alone(tokens)) --tokens;
    return tokens;
  }

  std::optional<ErrorCode> refusal_of(const GenerateRequest& request) const {
    const int total = static_cast<int>(request.prompt.size()) + request.max_tokens.value_or(1);
    if (request.n > options_.max_sequences) return ErrorCode::kInvalidArgument;
    if (total > max_context_) return ErrorCode::kContextLengthExceeded;
    if (draining_) return ErrorCode::kUnavailable;
    const auto fresh = std::count_if(lives_.live().begin(), lives_.live().end(), [](Life* l) { return !l->admitted; });
    if (fresh >= options_.max_waiting) return ErrorCode::kOverloaded;
    return std::nullopt;
  }

  void submit(const Event& event) {
    GenerateRequest request = request_of(event, stage_.subject.vocab(), lives_.all().size());
    const std::optional<ErrorCode> expected = refusal_of(request);
    const std::optional<ErrorCode> refused = try_submit(std::move(request), event);
    if (refused != expected)
      verdict_.fail("submission: refused {}, to be refused {}", refused ? name(*refused) : "not",
                    expected ? name(*expected) : "not");
    if (refused) ++stage_.num_refused[*refused];
  }
  // Inside an event what the engine told last may be a step old: it can be overloaded when it is not any more.
  void submit_inside(Event event) {
    event.features = 0;
    try_submit(request_of(event, stage_.subject.vocab(), lives_.all().size()), event);
  }
  std::optional<ErrorCode> try_submit(GenerateRequest request, const Event& event) {
    Life& life = lives_.begin(request);
    const int max_tokens = request.max_tokens.value_or(max_context_ - life.num_prompt());
    const Result<RequestId> id = engine_->submit(std::move(request), std::make_shared<Sink>(*this, life, event));
    if (!id.ok()) {
      lives_.forget_last();
      return id.error().code;
    }
    if (*id != ++num_accepted_) verdict_.fail("request {} is called {}", num_accepted_, *id);
    lives_.accept(life, *id, max_tokens);
    return std::nullopt;
  }

  void abort(int target) {
    const RequestId id = 1 + static_cast<RequestId>(target) % (num_accepted_ + 1);
    ++stage_.num_aborted[when(id)];
    abort_at_next_step(id);
  }
  void abort_inside(RequestId id) {
    ++stage_.num_aborted[Stage::kInsideAnEvent];
    abort_at_next_step(id);
  }
  void abort_at_next_step(RequestId id) {
    engine_->abort(id);
    Life* life = lives_.find_live(id);
    if (life == nullptr) return;  // of no effect, ever
    life->aborted = true;
    aborts_.push_back(id);
  }
  Stage::AbortedWhen when(RequestId id) const {
    if (id > num_accepted_) return Stage::kUnknown;
    const Life* life = lives_.find_live(id);
    if (life == nullptr) return Stage::kEnded;
    if (!life->admitted) return id > num_accepted_at_step_ ? Stage::kJustSubmitted : Stage::kWaiting;
    bool decodes = false;
    for (int c = 0; c < life->forked; ++c) {
      if (life->at(c).state == Sequence::State::kWaiting) return Stage::kPreempted;
      decodes = decodes || life->at(c).computed >= life->num_prompt();
    }
    return decodes ? Stage::kDecoding : Stage::kPrefill;
  }

  void drain() {
    draining_ = true;
    engine_->drain(Duration::zero());  // returns at once; the steps are ours
  }

  // Whether anything was computed. Whoever was aborted before has ended now.
  bool step() {
    clock_.advance(std::chrono::milliseconds(1));
    const std::vector<RequestId> due = std::exchange(aborts_, {});
    const int64_t before = witness_.num_steps();
    num_accepted_at_step_ = num_accepted_;
    engine_->step();
    witness_.after_step(engine_->stats());
    for (RequestId id : due) {
      if (lives_.find_live(id) != nullptr) verdict_.fail("request {} was aborted and lives", id);
    }
    return witness_.num_steps() > before;
  }

  void finish() {
    accepts_ = false;
    if (drains_) drain();
    const int64_t bound = bound_on_steps(lives_.live());
    const bool several = lives_.live().size() > 1;
    const int64_t before = witness_.num_steps();
    const bool waits_for_time = !draining_ && options_.batching.mode == BatchingMode::kDynamic;
    bool is_due = !waits_for_time;
    while (!lives_.live().empty() && verdict_.ok()) {
      if (step() || lives_.live().empty()) {
        is_due = !waits_for_time;
      } else if (is_due) {
        verdict_.fail("nobody runs and {} wait", lives_.live().size());
      } else {
        clock_.advance(options_.batching.max_wait);
        is_due = true;
      }
      if (witness_.num_steps() - before > bound) verdict_.fail("more steps than {}, the bound", bound);
    }
    if (!verdict_.ok()) return;
    if (several) {
      const double part = static_cast<double>(witness_.num_steps() - before) / static_cast<double>(bound);
      stage_.nearest_to_bound = std::max(stage_.nearest_to_bound, part);
    }
    step();  // tells late aborts
    const EngineStats stats = engine_->stats();
    int64_t ended = 0;
    for (int64_t count : stats.finished) ended += count;
    if (engine_->step() || stats.kv_used_blocks != 0 || stats.running + stats.waiting != 0 ||
        ended != static_cast<int64_t>(num_accepted_))
      verdict_.fail("{} of {} requests told as ended, {} blocks held", ended, num_accepted_, stats.kv_used_blocks);
  }

  // Every choice against the chain of draws that its request alone would have had.
  void check_answer(const Life& life) {
    if (!life.end) return verdict_.fail("request {} has not ended", life.id);
    std::vector<int32_t> stops = life.spec.stop_token_ids;
    if (stage_.subject.has_text && !life.spec.ignore_eos) stops.push_back(testing::kEndToken);
    for (int c = 0; c < life.spec.n; ++c) {
      const std::vector<int32_t>& tokens = life.at(c).tokens;
      const ChoiceEnd& end = *life.at(c).end;
      const bool aborted = end.reason == FinishReason::kAbort;
      const int most = aborted ? static_cast<int>(tokens.size()) : life.max_tokens;
      const NullAnswer alone = stage_.answers.answer(life.spec, c, life.end->seed, most, stops,
                                                     life.spec.stop.empty() ? -1 : testing::kStopCharacter);
      const bool stopped = alone.stop_token || alone.stop_string;
      const int completion = static_cast<int>(alone.tokens.size()) + (alone.stop_token ? 1 : 0);
      const FinishReason reason = aborted   ? FinishReason::kAbort
                                  : stopped ? FinishReason::kStop
                                            : FinishReason::kLength;
      if (tokens != alone.tokens || end.reason != reason || end.stop_token != alone.stop_token ||
          end.stop_string.has_value() != alone.stop_string || end.completion_tokens != completion)
        verdict_.fail("request {}.{}: {} {}; alone {} {}", life.id, c, name(end.reason), fmt::join(tokens, " "),
                      name(reason), fmt::join(alone.tokens, " "));
    }
  }

  void note() {
    ++stage_.num_histories;
    stage_.num_accepted += static_cast<int64_t>(num_accepted_);
    stage_.num_steps += witness_.num_steps();
    stage_.num_preempting += witness_.num_preemptions() > 0 && options_.random_preemption.one_in == 0 ? 1 : 0;
    stage_.num_overtaken_most += witness_.most_overtaken() == kMaxOvertakes ? 1 : 0;
    for (const Life& life : lives_.all()) {
      stage_.num_forked += life.forked > 1 ? 1 : 0;
      if (life.end) ++stage_.num_ended[static_cast<size_t>(life.end->reason)];
    }
  }

  Stage& stage_;
  EngineOptions options_;
  const bool drains_;
  VirtualClock clock_;
  Verdict verdict_;
  Lives lives_;
  Witness witness_;
  int max_context_ = 0;
  bool accepts_ = true;
  bool draining_ = false;
  RequestId num_accepted_ = 0;
  RequestId num_accepted_at_step_ = 0;
  std::vector<RequestId> aborts_;   // told since the last step
  std::unique_ptr<Engine> engine_;  // the last: it ends its requests when it goes
};

class SchedulerProperty : public ::testing::TestWithParam<Subject> {};

TEST_P(SchedulerProperty, RandomHistoriesLoseNothingAndStarveNobody) {
  Stage stage(GetParam());
  const int histories = stage.subject.histories / brio::testing::kSlowdown;
  brio::testing::check_property(histories, hash_bytes(stage.subject.name), testing::gen_history(),
                                [&](const History& history) {
                                  Replay replay(stage, history);
                                  return replay.run(history.events);
                                });
  if (HasFailure() || brio::testing::isolates_cases()) return;
  stage.print();
  if (std::getenv("RC_PARAMS") == nullptr) {
    EXPECT_EQ(stage.num_histories, histories);
  }
  if (stage.num_histories >= 500) stage.expect_variety();
}

TEST(SchedulerHistories, AreAHundredThousand) {
  int all = 0;
  for (const Subject& subject : kSubjects) all += subject.histories;
  EXPECT_GE(all, 100000);
}

INSTANTIATE_TEST_SUITE_P(Architectures, SchedulerProperty, ::testing::ValuesIn(kSubjects),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace brio::engine
