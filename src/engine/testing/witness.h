// Witness: watches the steps of an engine from outside. It keeps its own account of where every sequence is and of what
// it has computed, from the plans and the events alone, and compares it with what the scheduler and the KV cache hold.
// For tests.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "engine/scheduler.h"
#include "engine/testing/life.h"

namespace brio::engine::testing {

class Witness {
 public:
  Witness(const EngineOptions& options, int max_logits, Lives& lives, Verdict& verdict)
      : options_(options), max_logits_(max_logits), lives_(lives), verdict_(verdict) {}

  // Of a step, before its tokens are accepted.
  void on_step(const Plan& plan, const kv::KvCache& kv) {
    if (!verdict_.ok()) return;
    kv_ = &kv;
    if (plan.number != ++num_steps_) verdict_.fail("step {} is called {}", num_steps_, plan.number);
    for (const Chunk& chunk : plan.chunks) {
      if (Life* life = lives_.find_live(chunk.sequence->request->id)) life->request = chunk.sequence->request;
    }
    follow_queues(plan);
    check_queues(plan);
    check_budgets(plan);
    size_t row = 0;
    for (size_t i = 0; i < plan.chunks.size() && verdict_.ok(); ++i) {
      check_chunk(plan, i, row);
      row += static_cast<size_t>(plan.chunks[i].num_rows());
    }
    check_progress();
    check_conservation();
  }

  // After every call of Engine::step().
  void after_step(const EngineStats& stats) {
    if (!verdict_.ok()) return;
    int running = 0;
    int waiting = 0;
    for (Life* life : lives_.live()) {
      if (life->request != nullptr) compare(*life);
      for (int c = 0; c < life->forked; ++c) {
        running += life->at(c).state == Sequence::State::kRunning ? 1 : 0;
        waiting += life->at(c).state == Sequence::State::kWaiting ? 1 : 0;
      }
    }
    if (stats.running != running || stats.waiting != waiting || stats.steps != num_steps_)
      verdict_.fail("after step {}: {} run, {} wait; told are {}, {}, {}", num_steps_, running, waiting, stats.steps,
                    stats.running, stats.waiting);
    if (kv_ != nullptr) check_conservation();
  }

  int64_t num_steps() const { return num_steps_; }
  int num_preemptions() const { return num_preemptions_; }
  int most_overtaken() const { return most_overtaken_; }

 private:
  struct Age {
    RequestId id;
    int choice;
    auto operator<=>(const Age&) const = default;
  };
  struct Admitted {
    Age age;
    bool fresh;  // for the first time
  };

  bool is_whole() const { return options_.batching.mode != BatchingMode::kContinuous; }

  // Who moved between the queues with this plan.
  void follow_queues(const Plan& plan) {
    admitted_.clear();
    preempted_.clear();
    oldest_running_.reset();
    batch_runs_ = false;
    for (Life* life : lives_.live()) {
      batch_runs_ = batch_runs_ || life->admitted;
      for (int c = 0; c < life->forked; ++c) {
        ChoiceLife& choice = life->at(c);
        if (choice.state == Sequence::State::kEnded) continue;
        if (choice.state == Sequence::State::kRunning && !oldest_running_) oldest_running_ = Age{life->id, c};
        const Sequence::State now = state_now(plan, *life, c);
        if (choice.state == now) continue;
        choice.state = now;
        choice.computed = 0;
        if (now == Sequence::State::kRunning) {
          admitted_.push_back({{life->id, c}, !life->admitted});
          choice.admitted_in = num_steps_;
        } else {
          preempted_.push_back({life->id, c});
          choice.overtaken = 0;
          ++life->preemptions;
          ++num_preemptions_;
        }
      }
    }
  }

  // A sequence is seen from its first chunk on; one that was admitted without rows is known by its request's id alone.
  static Sequence::State state_now(const Plan& plan, const Life& life, int choice) {
    if (life.request != nullptr) return life.request->choices[static_cast<size_t>(choice)]->state;
    const auto named = [&](const std::vector<RequestId>& ids) {
      return std::find(ids.begin(), ids.end(), life.id) != ids.end();
    };
    if (named(plan.admitted)) return Sequence::State::kRunning;
    return named(plan.preempted) ? Sequence::State::kWaiting : life.at(choice).state;
  }

  void check_queues(const Plan& plan) {
    if (!admitted_.empty() && !preempted_.empty()) verdict_.fail("step {} preempts and admits", num_steps_);
    std::vector<RequestId> ids;
    for (const Admitted& admitted : admitted_) ids.push_back(admitted.age.id);
    check_named("admitted", ids, plan.admitted);
    ids.clear();
    for (const Age& age : preempted_) ids.push_back(age.id);
    check_named("preempted", ids, plan.preempted);
    for (const Age& age : preempted_) {
      if (age == oldest_running_) verdict_.fail("step {} preempts the oldest, {}.{}", num_steps_, age.id, age.choice);
    }
    if (admitted_.empty()) return;
    const auto fresh = std::count_if(admitted_.begin(), admitted_.end(), [](const Admitted& a) { return a.fresh; });
    if (is_whole() && fresh > options_.batching.size) verdict_.fail("step {}: a batch of {}", num_steps_, fresh);
    if (is_whole() && fresh > 0 && batch_runs_) verdict_.fail("step {}: a batch that runs is joined", num_steps_);
    for (Life* life : lives_.live()) count_overtakes(*life);
    for (const Admitted& admitted : admitted_) {
      if (Life* life = lives_.find_live(admitted.age.id)) life->admitted = true;
    }
  }
  void check_named(const char* what, const std::vector<RequestId>& seen, std::vector<RequestId> named) {
    std::sort(named.begin(), named.end());
    if (seen != named)
      verdict_.fail("step {}: {} are {}, the plan says {}", num_steps_, what, fmt::join(seen, " "),
                    fmt::join(named, " "));
  }

  // Who belongs to a batch that runs does not overtake those who wait for the next.
  void count_overtakes(Life& life) {
    for (int c = 0; c < life.forked; ++c) {
      ChoiceLife& choice = life.at(c);
      if (choice.state != Sequence::State::kWaiting) continue;
      for (const Admitted& other : admitted_) {
        const bool joins = !is_whole() || other.fresh || life.admitted;
        if (other.age > Age{life.id, c} && joins) ++choice.overtaken;
      }
      most_overtaken_ = std::max(most_overtaken_, choice.overtaken);
      if (choice.overtaken > kMaxOvertakes)
        verdict_.fail("step {}: {}.{} is overtaken {} times", num_steps_, life.id, c, choice.overtaken);
    }
  }

  void check_budgets(const Plan& plan) {
    int load = 0;
    for (const Life* life : lives_.live()) {
      for (int c = 0; c < life->forked; ++c) {
        const int fan_out = life->forked == 1 ? life->spec.n : 1;
        load += life->at(c).state == Sequence::State::kRunning ? fan_out : 0;
      }
    }
    if (load > options_.max_sequences) verdict_.fail("step {}: {} sequences", num_steps_, load);
    size_t rows = 0;
    for (const Chunk& chunk : plan.chunks) rows += static_cast<size_t>(chunk.num_rows());
    if (plan.rows.size() != rows || plan.writes.size() != rows || static_cast<int>(rows) > options_.max_rows)
      verdict_.fail("step {}: {} rows, {} of chunks", num_steps_, plan.rows.size(), rows);
    const auto logits = std::count_if(plan.rows.begin(), plan.rows.end(),
                                      [](const ops::Row& row) { return row.output == ops::RowOutput::kLogits; });
    if (logits != plan.num_logits || logits > max_logits_)
      verdict_.fail("step {}: {} rows with logits, told are {}", num_steps_, logits, plan.num_logits);
  }

  // A chunk goes on where its sequence was, with the tokens that were accepted, into blocks that nobody else holds.
  void check_chunk(const Plan& plan, size_t index, size_t first_row) {
    const Chunk& chunk = plan.chunks[index];
    const int c = chunk.sequence->choice;
    Life* life = lives_.find_live(chunk.sequence->request->id);
    if (life == nullptr || c >= life->forked) return verdict_.fail("step {}: a chunk of nobody", num_steps_);
    ChoiceLife& choice = life->at(c);
    const int known = life->known(c);
    const auto fail = [&](const char* what) {
      verdict_.fail("step {}: {}.{}[{},{})/{}: {}", num_steps_, life->id, c, chunk.begin, chunk.end, known, what);
    };
    if (choice.state != Sequence::State::kRunning) fail("does not run");
    if (choice.rows_in == num_steps_) fail("has two chunks");
    choice.rows_in = num_steps_;
    if (chunk.begin != choice.computed) fail("does not go on where it was");
    if (chunk.begin >= chunk.end || chunk.end > known) fail("no tokens, or unknown ones");
    if (options_.chunking.kind != Chunking::Kind::kBudget && known - chunk.begin > 1 &&
        chunk.num_rows() > options_.chunking.size)
      fail("larger than a chunk");
    const bool continues = chunk.end == known && life->max_tokens > 0;
    if (continues && (chunk.logits_begin >= chunk.end || chunk.logits_end != chunk.end)) fail("no logits to continue");
    if (!verdict_.ok()) return;
    for (int p = chunk.begin; p < chunk.end; ++p) {
      const size_t r = first_row + static_cast<size_t>(p - chunk.begin);
      const ops::Row& row = plan.rows[r];
      const bool wants_logits = p >= chunk.logits_begin && p < chunk.logits_end;
      if (row.token != life->token(c, p) || row.position != p || row.sequence != static_cast<int>(index) ||
          row.visible_begin != 0 || row.visible_end != p + 1 ||
          (row.output == ops::RowOutput::kLogits) != wants_logits || plan.writes[r].position != p ||
          plan.writes[r].sequence != static_cast<int>(index))
        fail("a wrong row");
    }
    for (int group = 0; group < kv_->num_groups(); ++group) {
      if (!holds_blocks(chunk, group)) fail("keys that a row sees are not held, or written blocks are shared");
    }
    choice.computed = chunk.end;
  }

  bool holds_blocks(const Chunk& chunk, int group) const {
    const kv::BlockTable& table = kv_->table(group, chunk.sequence->kv);
    const tensor::KvSpec& spec = kv_->shape(group).spec;
    const bool is_window = spec.kind == tensor::KvSpec::Kind::kWindow;
    const int first_seen = is_window ? std::max(0, chunk.begin - spec.window + 1) : 0;
    for (int b = first_seen / tensor::kBlockTokens; b <= (chunk.end - 1) / tensor::kBlockTokens; ++b) {
      if (b >= table.size() || table[b] == kv::kNoBlock) return false;
      const bool is_written = b >= chunk.begin / tensor::kBlockTokens;
      if (is_written && kv_->pool(group).references(table[b]) != 1) return false;
    }
    return true;
  }

  // What the bound on the number of steps stands on: whoever was the oldest to run computes something, and so does
  // everybody who continues an answer.
  void check_progress() {
    for (const Life* life : lives_.live()) {
      for (int c = 0; c < life->forked; ++c) {
        const ChoiceLife& choice = life->at(c);
        if (choice.state != Sequence::State::kRunning || choice.rows_in == num_steps_) continue;
        const bool is_oldest = oldest_running_ == Age{life->id, c};
        const bool continues = life->known(c) - choice.computed == 1 && choice.admitted_in != num_steps_;
        if (is_oldest || continues) verdict_.fail("step {}: {}.{} gets no row", num_steps_, life->id, c);
      }
    }
  }

  // free + referenced = total, and a block's references are the tables it is in. Requests that were admitted without
  // rows are not seen yet: their blocks are only known to exist.
  void check_conservation() {
    const bool all_seen = std::none_of(lives_.live().begin(), lives_.live().end(), [](const Life* life) {
      return life->request == nullptr && life->at(0).state == Sequence::State::kRunning;
    });
    for (int group = 0; group < kv_->num_groups(); ++group) {
      const kv::BlockPool& pool = kv_->pool(group);
      held_.assign(static_cast<size_t>(pool.num_blocks()), 0);
      for (const Life* life : lives_.live()) {
        if (life->request == nullptr) continue;
        for (const auto& sequence : life->request->choices) count_held(group, sequence->kv);
      }
      int referenced = 0;
      for (kv::BlockId b = 0; b < pool.num_blocks(); ++b) {
        const int references = pool.references(b);
        const int held = held_[static_cast<size_t>(b)];
        referenced += references > 0 ? 1 : 0;
        if (all_seen ? references != held : references < held)
          verdict_.fail("step {}: block {} is held {} times, referenced {} times", num_steps_, b, held, references);
      }
      if (referenced + pool.num_free() != options_.kv_blocks)
        verdict_.fail("step {}: {} blocks referenced, {} free", num_steps_, referenced, pool.num_free());
    }
  }
  void count_held(int group, kv::SequenceId sequence) {
    if (sequence < 0) return;
    for (kv::BlockId block : kv_->table(group, sequence).blocks()) {
      if (block != kv::kNoBlock) ++held_[static_cast<size_t>(block)];
    }
  }

  // The scheduler's sequences against the account, after a step; follows a fork.
  void compare(Life& life) {
    const int existing = static_cast<int>(life.request->choices.size());
    if (existing != life.forked) {
      if (life.forked != 1 || existing != life.spec.n) verdict_.fail("request {}: {} choices", life.id, existing);
      for (int c = 1; c < life.spec.n; ++c) {
        life.at(c).computed = life.at(0).computed;
        if (!life.at(c).end) life.at(c).state = Sequence::State::kRunning;
      }
      life.forked = life.spec.n;
    }
    for (int c = 0; c < life.forked && verdict_.ok(); ++c) {
      const Sequence& sequence = *life.request->choices[static_cast<size_t>(c)];
      const ChoiceLife& choice = life.at(c);
      if (sequence.state != choice.state) verdict_.fail("step {}: {}.{} changed its queue", num_steps_, life.id, c);
      if (choice.end) continue;
      if (sequence.computed != choice.computed || sequence.known() != life.known(c) ||
          sequence.computed > sequence.known())
        verdict_.fail("step {}: {}.{} has computed {}/{}, the scheduler says {}/{}", num_steps_, life.id, c,
                      choice.computed, life.known(c), sequence.computed, sequence.known());
    }
  }

  const EngineOptions& options_;
  const int max_logits_;
  Lives& lives_;
  Verdict& verdict_;
  const kv::KvCache* kv_ = nullptr;
  int64_t num_steps_ = 0;
  int num_preemptions_ = 0;
  int most_overtaken_ = 0;

  // Of the step that is looked at.
  std::vector<Admitted> admitted_;
  std::vector<Age> preempted_;
  std::optional<Age> oldest_running_;  // before the plan
  bool batch_runs_ = false;            // some request was admitted before the plan and has not ended
  std::vector<int> held_;
};

}  // namespace brio::engine::testing
