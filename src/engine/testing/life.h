// Life: one accepted request as its events tell it, and Lives: all of them. Checks what events promise: on_prompt once
// and first, one end per choice, one end of the request, last, nobody ends with an error. For tests.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/events.h"
#include "engine/sequence.h"

namespace brio::engine::testing {

// The first thing that is wrong.
class Verdict {
 public:
  template <typename... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (ok()) wrong_ = fmt::format(format, std::forward<Args>(args)...);
  }
  bool ok() const { return wrong_.empty(); }
  const std::string& wrong() const { return wrong_; }

 private:
  std::string wrong_;
};

struct ChoiceLife {
  std::vector<int32_t> tokens;
  std::optional<ChoiceEnd> end;
  // The witness's account of its sequence.
  Sequence::State state = Sequence::State::kWaiting;
  int computed = 0;
  int overtaken = 0;                     // since it began to wait
  int64_t admitted_in = 0, rows_in = 0;  // the last such step
};

struct Life {
  RequestId id = 0;
  GenerateRequest spec;
  int max_tokens = 0;               // per choice
  std::vector<ChoiceLife> choices;  // [n]
  bool aborted = false;
  bool scored = false;
  std::optional<RequestEnd> end;
  // The witness's account.
  const Request* request = nullptr;  // the engine's own, from its first chunk to its end
  int forked = 1;                    // choices that exist
  bool admitted = false;
  int preemptions = 0;

  int num_prompt() const { return static_cast<int>(spec.prompt.size()); }
  int known(int choice) const { return num_prompt() + static_cast<int>(at(choice).tokens.size()); }
  int32_t token(int choice, int position) const {
    if (position < num_prompt()) return spec.prompt[static_cast<size_t>(position)];
    return at(choice).tokens[static_cast<size_t>(position - num_prompt())];
  }
  const ChoiceLife& at(int choice) const { return choices[static_cast<size_t>(choice)]; }
  ChoiceLife& at(int choice) { return choices[static_cast<size_t>(choice)]; }
};

class Lives {
 public:
  explicit Lives(Verdict& verdict) : verdict_(verdict) {}

  Life& begin(GenerateRequest spec) {  // id and max_tokens follow when it is accepted
    Life& life = all_.emplace_back();
    life.choices.resize(static_cast<size_t>(std::max(spec.n, 0)));
    life.spec = std::move(spec);
    return life;
  }
  void forget_last() { all_.pop_back(); }  // refused
  void accept(Life& life, RequestId id, int max_tokens) {
    life.id = id;
    life.max_tokens = max_tokens;
    live_.push_back(&life);
  }

  std::deque<Life>& all() { return all_; }
  const std::vector<Life*>& live() const { return live_; }  // not ended, by age
  Life* find_live(RequestId id) const {
    const auto found = std::lower_bound(live_.begin(), live_.end(), id,
                                        [](const Life* life, RequestId wanted) { return life->id < wanted; });
    return found != live_.end() && (*found)->id == id ? *found : nullptr;
  }

  void on_prompt(Life& life, const PromptEvent& event) {
    check_alive(life, "on_prompt");
    if (life.spec.prompt_logprobs < 0 || life.scored) verdict_.fail("request {}: on_prompt unasked, or again", life.id);
    if (!life.at(0).tokens.empty()) verdict_.fail("request {}: a token before on_prompt", life.id);
    life.scored = true;
    if (event.logprobs.size() != life.spec.prompt.size() || event.logprobs[0].has_value())
      return verdict_.fail("request {}: {} prompt logprobs", life.id, event.logprobs.size());
    for (size_t p = 1; p < event.logprobs.size(); ++p) {
      if (!event.logprobs[p] || event.logprobs[p]->chosen.token != life.spec.prompt[p])
        verdict_.fail("request {}: prompt logprobs of position {}", life.id, p);
    }
  }
  void on_token(Life& life, const TokenEvent& event) {
    check_alive(life, "on_token");
    if (ChoiceLife* choice = unended(life, event.choice)) choice->tokens.push_back(event.token);
    if (event.logprobs.has_value() != (life.spec.sampling.logprobs >= 0))
      verdict_.fail("request {}: logprobs", life.id);
  }
  void on_choice_end(Life& life, const ChoiceEnd& event) {
    check_alive(life, "on_choice_end");
    ChoiceLife* choice = unended(life, event.choice);
    if (choice == nullptr) return;
    choice->end = event;
    choice->state = Sequence::State::kEnded;
    check_reason(life, event.reason);
  }
  void on_end(Life& life, const RequestEnd& event) {
    check_alive(life, "on_end");
    check_reason(life, event.reason);
    int completion = 0;
    for (const ChoiceLife& choice : life.choices) {
      if (!choice.end) return verdict_.fail("request {} ended before one of its choices", life.id);
      completion += choice.end->completion_tokens;
    }
    const Usage& usage = event.usage;
    if (usage.completion_tokens != completion || usage.prompt_tokens != life.num_prompt())
      verdict_.fail("request {}: {} + {} tokens used", life.id, usage.prompt_tokens, usage.completion_tokens);
    if (event.timeline.preemptions != life.preemptions)
      verdict_.fail("request {}: {} preemptions, seen are {}", life.id, event.timeline.preemptions, life.preemptions);
    if (life.spec.prompt_logprobs >= 0 && !life.scored && !life.aborted)
      verdict_.fail("request {}: no on_prompt", life.id);
    life.end = event;
    life.request = nullptr;  // gone with the next step
    std::erase(live_, &life);
  }

 private:
  void check_alive(const Life& life, const char* event) {
    if (life.end) verdict_.fail("request {}: {} after on_end", life.id, event);
  }
  void check_reason(const Life& life, FinishReason reason) {
    if (reason == FinishReason::kError) verdict_.fail("request {} ended with an error", life.id);
    if (reason == FinishReason::kAbort && !life.aborted) verdict_.fail("request {}: nobody aborted it", life.id);
  }
  ChoiceLife* unended(Life& life, int choice) {
    if (choice >= 0 && choice < life.spec.n && !life.at(choice).end) return &life.at(choice);
    verdict_.fail("request {}.{}: an event after its end", life.id, choice);
    return nullptr;
  }

  Verdict& verdict_;
  std::deque<Life> all_;
  std::vector<Life*> live_;
};

}  // namespace brio::engine::testing
