#include "server/local_call.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/memory_reserve.h"
#include "server/chat_prompt.h"

namespace brio::server {
namespace {

// The engine's messages open with its own names for what clients call the same; quoted they become the error's "param".
Error name_field(Error error) {
  constexpr std::string_view kFields[] = {
      "n",          "max_tokens", "min_tokens",         "ignore_eos", "temperature",       "top_k",
      "top_p",      "min_p",      "repetition_penalty", "logprobs",   "frequency_penalty", "presence_penalty",
      "logit_bias", "stop",       "stop_token_ids",     "prompt"};
  const size_t end = error.message.find_first_of(" [");
  if (end == std::string::npos || error.code == ErrorCode::kContextLengthExceeded) return error;
  const std::string_view first = std::string_view(error.message).substr(0, end);
  if (std::find(std::begin(kFields), std::end(kFields), first) == std::end(kFields)) return error;
  error.message.insert(error.message.find(' '), "'");
  error.message.insert(0, "'");
  return error;
}

}  // namespace

class LocalCall::PromptSink final : public engine::EventSink {
 public:
  PromptSink(std::shared_ptr<LocalCall> call, int prompt) : call_(std::move(call)), prompt_(prompt) {}
  void on_prompt(engine::RequestId, const engine::PromptEvent& event) override { call_->on_prompt(prompt_, event); }
  void on_token(const engine::TokenEvent& event) override { call_->on_token(prompt_, event); }
  void on_choice_end(const engine::ChoiceEnd& event) override { call_->on_choice_end(prompt_, event); }
  void on_end(const engine::RequestEnd& event) override { call_->on_end(prompt_, event); }

 private:
  std::shared_ptr<LocalCall> call_;
  int prompt_;
};

LocalCall::LocalCall(api::Request request, std::shared_ptr<api::EventSink> sink, const LoadedModel& model,
                     engine::Engine& engine, OutputGrammars& grammars, telemetry::Metrics* metrics,
                     std::shared_ptr<const int> presence)
    : request_(std::move(request)),
      sink_(std::move(sink)),
      model_(model),
      engine_(engine),
      grammars_(grammars),
      metrics_(metrics),
      presence_(std::move(presence)) {
  const auto* completion = std::get_if<api::CompletionRequest>(&request_);
  unfinished_ = completion ? completion->prompts.size() : 1;
}

// ---- towards the engine ----

void LocalCall::prepare() {
  try {
    submit_prompts();
  } catch (const std::bad_alloc&) {
    const MemoryReserve::Essential essential;
    refuse(error(ErrorCode::kOutOfMemory, "there is no memory for this request now"));
    MemoryReserve::refill();
  }
}

void LocalCall::submit_prompts() {
  {
    std::lock_guard lock(mutex_);
    if (cancelled_) return fail(error(ErrorCode::kCancelled, "cancelled before it began"));
  }
  auto requests = engine_requests();
  const Result<void> submitted = requests.ok() ? submit(std::move(requests).value()) : requests.error();
  if (!submitted.ok()) refuse(name_field(submitted.error()));
}

void LocalCall::refuse(Error error) {
  if (metrics_) metrics_->count_refused(name(error.code));
  std::lock_guard lock(mutex_);
  fail(std::move(error));
}

engine::GenerateRequest LocalCall::engine_request(std::vector<int32_t> prompt) const {
  const api::Generation& wanted = api::generation(request_);
  const api::Sampling& sampling = wanted.sampling;
  engine::GenerateRequest out;
  out.prompt = std::move(prompt);
  out.sampling.temperature = sampling.temperature;
  out.sampling.top_k = sampling.top_k;
  out.sampling.top_p = sampling.top_p;
  out.sampling.min_p = sampling.min_p;
  out.sampling.repetition_penalty = sampling.repetition_penalty;
  out.sampling.frequency_penalty = sampling.frequency_penalty;
  out.sampling.presence_penalty = sampling.presence_penalty;
  for (const auto& [token, bias] : sampling.logit_bias) out.sampling.logit_bias.push_back({token, bias});
  out.sampling.seed = sampling.seed;
  out.sampling.logprobs = wanted.top_logprobs;
  out.n = wanted.n;
  const int room = engine_.max_context() - static_cast<int>(out.prompt.size());
  if (!wanted.cut_to_context || wanted.max_tokens.value_or(room) < room) out.max_tokens = wanted.max_tokens;
  out.min_tokens = wanted.min_tokens;
  out.stop = wanted.stop;
  out.stop_token_ids = wanted.stop_token_ids;
  out.ignore_eos = wanted.ignore_eos;
  out.grammar = grammar_;
  out.arrival = wanted.arrival;
  return out;
}

Result<std::vector<engine::GenerateRequest>> LocalCall::engine_requests() {
  std::vector<engine::GenerateRequest> out;
  if (const auto& format = api::generation(request_).format) {
    BRIO_TRY(grammar_, grammars_.get(*format));
  }
  if (const auto* chat = std::get_if<api::ChatRequest>(&request_)) {
    BRIO_TRY(const std::vector<tokenizer::TextPiece> text, chat_text(model_, *chat));
    BRIO_TRY(std::vector<int32_t> prompt, model_.tokenizer->encode(text, tokenizer::AddSpecial::kNo));
    // Text held to a grammar is content, whatever it looks like.
    const OutputRules rules = grammar_ ? OutputRules{} : output_rules(model_, *chat, text);
    for (int i = 0; i < chat->generation.n; ++i) outputs_.emplace_back(i, rules);
    out.push_back(engine_request(std::move(prompt)));
    out.back().shown_tokens = shown_tokens(model_, rules.format);
    return out;
  }
  const auto& completion = std::get<api::CompletionRequest>(request_);
  for (const api::Prompt& prompt : completion.prompts) {
    BRIO_TRY(std::vector<int32_t> ids, completion_prompt(model_, prompt, add_special(completion)));
    if (completion.echo) echo_prompts_.push_back(ids);
    out.push_back(engine_request(std::move(ids)));
    if (completion.echo) out.back().prompt_logprobs = completion.generation.top_logprobs;
  }
  return out;
}

Result<void> LocalCall::submit(std::vector<engine::GenerateRequest> requests) {
  int prompt_tokens = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    prompt_tokens += static_cast<int>(requests[i].prompt.size());
    auto sink = std::make_shared<PromptSink>(shared_from_this(), static_cast<int>(i));
    // Its events may come before submit returns: emit() holds them back until all prompts are accepted.
    const Result<engine::RequestId> id = engine_.submit(std::move(requests[i]), std::move(sink));
    std::lock_guard lock(mutex_);
    if (!id.ok()) return id.error();
    ids_.push_back(*id);
  }
  std::lock_guard lock(mutex_);
  began(prompt_tokens);
  if (cancelled_) abort_all();
  return {};
}

// Everything is accepted: Started, prompts to echo at once, then what has come meanwhile.
void LocalCall::began(int prompt_tokens) {
  if (ended_) return;
  sink_->on_event(api::Started{prompt_tokens, 0});
  started_ = true;
  if (api::generation(request_).top_logprobs < 0) {  // with logprobs the echo waits for those of the prompt
    for (size_t i = 0; i < echo_prompts_.size(); ++i) echo(static_cast<int>(i), nullptr);
  }
  for (api::Event& event : std::exchange(held_, {})) emit(std::move(event));
}

void LocalCall::cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  abort_all();
}

void LocalCall::abort_all() {
  for (engine::RequestId id : ids_) engine_.abort(id);
}

// ---- from the engine ----

void LocalCall::emit(api::Event event) {
  if (ended_) return;
  if (!started_) {
    held_.push_back(std::move(event));
    return;
  }
  ended_ = std::holds_alternative<api::Done>(event) || std::holds_alternative<api::Failed>(event);
  sink_->on_event(std::move(event));
}

void LocalCall::fail(Error error) {
  if (ended_) return;
  ended_ = true;
  held_.clear();
  abort_all();
  sink_->on_event(api::Failed{std::move(error)});
}

api::TokenLogprob LocalCall::token_logprob(int32_t token, float logprob) const {
  return {token, model_.tokenizer->piece(token, tokenizer::RenderSpecial::kYes), logprob};
}

api::PositionLogprobs LocalCall::logprobs(const engine::Logprobs& logprobs) const {
  api::PositionLogprobs out;
  out.chosen = token_logprob(logprobs.chosen.token, logprobs.chosen.logprob);
  for (const engine::TokenLogprob& top : logprobs.top) out.top.push_back(token_logprob(top.token, top.logprob));
  return out;
}

// The prompt in front of each choice's answer: its own text, or the text of its ids.
void LocalCall::echo(int prompt, const engine::PromptEvent* event) {
  const auto& completion = std::get<api::CompletionRequest>(request_);
  const std::vector<int32_t>& ids = echo_prompts_[static_cast<size_t>(prompt)];
  const auto* text = std::get_if<std::string>(&completion.prompts[static_cast<size_t>(prompt)]);
  api::Delta delta;
  delta.text = text ? *text : model_.tokenizer->decode(ids, tokenizer::RenderSpecial::kYes);
  for (size_t i = 0; event && i < event->logprobs.size(); ++i) {
    api::PositionLogprobs position;
    position.chosen = token_logprob(ids[i], 0.0F);
    position.known = event->logprobs[i].has_value();
    if (position.known) position = logprobs(*event->logprobs[i]);
    position.in_text = text == nullptr || i > 0 || ids[0] != model_.tokenizer->spec().bos;
    delta.logprobs.push_back(std::move(position));
  }
  for (int i = 0; i < completion.generation.n; ++i) {
    delta.choice = prompt * completion.generation.n + i;
    emit(delta);
  }
}

void LocalCall::on_prompt(int prompt, const engine::PromptEvent& event) {
  std::lock_guard lock(mutex_);
  echo(prompt, &event);
}

void LocalCall::on_token(int prompt, const engine::TokenEvent& event) {
  const int choice = prompt * api::generation(request_).n + event.choice;
  std::vector<api::Delta> deltas;
  if (!outputs_.empty()) {
    deltas = outputs_[static_cast<size_t>(choice)].append(event.text);
  } else if (!event.text.empty()) {
    deltas.push_back({choice, event.text, {}});
  }
  if (event.logprobs) {
    if (deltas.empty()) deltas.push_back({choice, "", {}});
    deltas.front().logprobs.push_back(logprobs(*event.logprobs));
  }
  if (deltas.empty()) return;
  std::lock_guard lock(mutex_);
  for (api::Delta& delta : deltas) emit(std::move(delta));
}

void LocalCall::on_choice_end(int prompt, const engine::ChoiceEnd& event) {
  const int choice = prompt * api::generation(request_).n + event.choice;
  ChoiceOutput* const output = outputs_.empty() ? nullptr : &outputs_[static_cast<size_t>(choice)];
  std::lock_guard lock(mutex_);
  if (output) {
    for (api::Delta& delta : output->finish(event.text)) emit(std::move(delta));
  } else if (!event.text.empty()) {
    emit(api::Delta{choice, event.text, {}});
  }
  if (event.reason == engine::FinishReason::kAbort || event.reason == engine::FinishReason::kError) return;
  const bool stopped = event.reason == engine::FinishReason::kStop;
  emit(api::Finish{choice, finish_reason(stopped, output), event.stop_string.value_or("")});
}

void LocalCall::on_end(int /*prompt*/, const engine::RequestEnd& event) {
  std::lock_guard lock(mutex_);
  if (event.reason == engine::FinishReason::kError) {
    return fail(event.error.value_or(error(ErrorCode::kInternal, "the engine gave up without a reason")));
  }
  if (event.reason == engine::FinishReason::kAbort) {
    return fail(cancelled_ ? error(ErrorCode::kCancelled, "the request was cancelled")
                           : error(ErrorCode::kUnavailable, "the server is shutting down"));
  }
  api::Usage& usage = done_.usage;
  usage.prompt_tokens += event.usage.prompt_tokens;
  usage.cached_tokens += event.usage.cached_tokens;
  usage.completion_tokens += event.usage.completion_tokens;
  for (const ChoiceOutput& output : outputs_) usage.reasoning_tokens += output.reasoning_tokens();
  // Of several prompts, what the client waited for: the slowest.
  api::Timings& timings = done_.timings;
  timings.queue_ms = std::max(timings.queue_ms, to_ms(event.timeline.queue()));
  timings.ttft_ms = std::max(timings.ttft_ms, to_ms(event.timeline.time_to_first_token()));
  timings.tpot_ms = std::max(timings.tpot_ms, to_ms(event.timeline.time_per_output_token()));
  timings.total_ms = std::max(timings.total_ms, to_ms(event.timeline.end_to_end()));
  if (--unfinished_ == 0) emit(done_);
}

}  // namespace brio::server
