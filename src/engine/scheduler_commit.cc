// The second half of Scheduler: what the tokens of a step mean for their sequences.
#include <algorithm>

#include "base/check.h"
#include "engine/scheduler.h"

namespace brio::engine {

void Scheduler::commit(const Plan& plan, const Samples& samples, TimePoint now) {
  accept_scores(samples.prompts, now);
  for (const Chunk& chunk : plan.chunks) advance(chunk, plan, now);
  for (const Sample& sample : samples.tokens) {
    Sequence& root = *sample.sequence;
    Request& request = *root.request;
    if (!requests_.contains(request.id)) continue;  // failed or aborted by an earlier event of this step
    if (!sample.draw.ok()) {
      end_request(request, FinishReason::kError, sample.draw.error(), now);
      continue;
    }
    if (root.fan_out > 1) fork(root);
    Sequence& sequence = *request.choices[static_cast<size_t>(sample.choice)];
    accept(sequence, *sample.draw, now);
  }
}

void Scheduler::advance(const Chunk& chunk, const Plan& plan, TimePoint now) {
  Sequence& sequence = *chunk.sequence;
  Request& request = *sequence.request;
  if (!requests_.contains(request.id)) return;
  if (!is_decode(chunk)) {
    request.timeline.chunks.push_back({plan.started, now, chunk.num_rows()});
    tally_.prompt_tokens += chunk.num_rows();
  }
  sequence.computed = chunk.end;  // publish point: blocks below `computed` are complete, their tokens accepted
  if (request.scores_prompt() && sequence.known() == 1) request.sink->on_prompt(request.id, {{std::nullopt}});
  if (sequence.computed == sequence.known() && !sequence.generates()) {
    end_request(request, FinishReason::kLength, std::nullopt, now);
  }
}

void Scheduler::accept_scores(const std::vector<PromptScore>& scores, TimePoint now) {
  for (const PromptScore& score : scores) {
    Sequence& sequence = *score.sequence;
    Request& request = *sequence.request;
    if (!requests_.contains(request.id)) continue;
    if (!score.logprobs.ok()) {
      end_request(request, FinishReason::kError, score.logprobs.error(), now);
      continue;
    }
    request.prompt_scores.logprobs.resize(static_cast<size_t>(sequence.num_prompt));
    request.prompt_scores.logprobs[static_cast<size_t>(score.position)] = *score.logprobs;
    request.scored = score.position;
    if (score.position == sequence.num_prompt - 1) {
      request.sink->on_prompt(request.id, request.prompt_scores);
      request.prompt_scores = {};
    }
  }
}

// The prompt is computed: its other choices share its blocks from here on.
void Scheduler::fork(Sequence& root) {
  Request& request = *root.request;
  const int fan_out = std::exchange(root.fan_out, 1);
  for (int choice = 1; choice < fan_out; ++choice) {
    auto sequence = std::make_unique<Sequence>(root);
    sequence->choice = choice;
    sequence->kv = kv_.fork(root.kv, root.computed);
    running_.insert(std::find(running_.begin(), running_.end(), &root) + choice, sequence.get());
    request.choices.push_back(std::move(sequence));
  }
}

void Scheduler::accept(Sequence& sequence, const Draw& draw, TimePoint now) {
  Request& request = *sequence.request;
  sequence.tokens.push_back(draw.token);
  if (has_penalties(request.spec.sampling)) sequence.counts.add_output(draw.token);
  if (sequence.num_output() > 1) tally_.inter_token_seconds.push_back(to_seconds(now - sequence.last_token));
  sequence.last_token = now;
  request.timeline.tokens.push_back({sequence.choice, now});
  ++request.usage.completion_tokens;
  ++tally_.generated_tokens;
  if (sequence.matcher && !sequence.matcher->accept(draw.token)) {
    return end_request(request, FinishReason::kError,
                       error(ErrorCode::kInvalidArgument, "the grammar is too ambiguous to be followed any further"),
                       now);
  }

  ChoiceEnd end{request.id, sequence.choice, FinishReason::kStop, {}, {}, {}, sequence.num_output()};
  if (std::binary_search(request.stop_ids.begin(), request.stop_ids.end(), draw.token)) {
    end.stop_token = draw.token;
    end.text = sequence.text.finish().text;
    return end_choice(sequence, std::move(end), now);
  }
  TextStream::Piece piece = sequence.text.append(draw.token);
  request.sink->on_token({request.id, sequence.choice, draw.token, std::move(piece.text), draw.logprobs});
  if (piece.stop) {
    end.stop_string = std::move(piece.stop);
    return end_choice(sequence, std::move(end), now);
  }
  const bool matched = sequence.matcher && sequence.matcher->is_complete() && !sequence.matcher->can_go_on();
  if (!matched && sequence.num_output() < request.max_tokens) return;
  piece = sequence.text.finish();
  end.text = std::move(piece.text);
  end.stop_string = std::move(piece.stop);
  end.reason = matched || end.stop_string ? FinishReason::kStop : FinishReason::kLength;
  end_choice(sequence, std::move(end), now);
}

void Scheduler::end_choice(Sequence& sequence, ChoiceEnd end, TimePoint now) {
  Request& request = *sequence.request;
  release(sequence);
  ++request.ended;
  if (sequence.choice == 0) request.first_reason = end.reason;
  request.sink->on_choice_end(end);
  if (request.ended == request.spec.n) finish(request, *request.first_reason, std::nullopt, now);
}

// Ends every choice that has not ended, those that were never forked included.
void Scheduler::end_request(Request& request, FinishReason reason, std::optional<Error> error, TimePoint now) {
  for (int choice = 0; choice < request.spec.n; ++choice) {
    ChoiceEnd end{request.id, choice, reason, {}, {}, {}, 0};
    if (static_cast<size_t>(choice) < request.choices.size()) {
      Sequence& sequence = *request.choices[static_cast<size_t>(choice)];
      if (sequence.state == Sequence::State::kEnded) continue;
      end.completion_tokens = sequence.num_output();
      end.text = sequence.text.finish().text;
      release(sequence);
    }
    ++request.ended;
    request.sink->on_choice_end(end);
  }
  finish(request, reason, std::move(error), now);
}

void Scheduler::finish(Request& request, FinishReason reason, std::optional<Error> error, TimePoint now) {
  BRIO_CHECK(request.ended == request.spec.n, "request {}: {} of {} choices ended", request.id, request.ended,
             request.spec.n);
  request.timeline.finished = now;
  if (!request.admitted) --num_fresh_;
  ++finished_[static_cast<size_t>(reason)];
  if (metrics_ != nullptr) {
    metrics_->observe_request(
        {name(reason), request.usage.prompt_tokens, request.usage.completion_tokens, &request.timeline});
  }
  request.sink->on_end(
      {request.id, reason, std::move(error), request.usage, request.seed, std::move(request.timeline)});
  request.sink.reset();
  const auto found = requests_.find(request.id);
  ended_.push_back(std::move(found->second));
  requests_.erase(found);
}

// Gives back what the sequence holds and takes it out of its queue.
void Scheduler::release(Sequence& sequence) {
  std::vector<Sequence*>& queue = sequence.state == Sequence::State::kRunning ? running_ : waiting_;
  queue.erase(std::find(queue.begin(), queue.end(), &sequence));
  if (sequence.state == Sequence::State::kRunning) kv_.close(sequence.kv);
  sequence.kv = -1;
  sequence.state = Sequence::State::kEnded;
}

void Scheduler::sweep() {
  ended_.clear();
}

void Scheduler::abort(RequestId id, TimePoint now) {
  const auto found = requests_.find(id);
  if (found != requests_.end()) end_request(*found->second, FinishReason::kAbort, std::nullopt, now);
}

void Scheduler::abort_all(TimePoint now) {
  while (!requests_.empty()) abort(requests_.begin()->first, now);
}

}  // namespace brio::engine
