#include "scripted/scripted_backend.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "server/choice_output.h"

namespace brio::scripted {
namespace {

std::string last_text(const api::Request& request) {
  if (const auto* chat = std::get_if<api::ChatRequest>(&request)) return chat->messages.back().content.value_or("");
  const auto* text = std::get_if<std::string>(&std::get<api::CompletionRequest>(request).prompts.front());
  return text ? *text : "";
}

}  // namespace

// One call: all its choices say the same, a token at a time.
class ScriptedBackend::Run {
 public:
  Run(const Script& script, const ScriptedAnswer& answer, const api::Request& request,
      std::shared_ptr<api::EventSink> sink)
      : answer_(answer), sink_(std::move(sink)) {
    server::OutputRules rules;
    if (const auto* chat = std::get_if<api::ChatRequest>(&request)) {
      rules.format = script.output;
      if (chat->tools_json.empty()) rules.format.tools = nullptr;
      rules.reasoning_open = script.reasoning_open;
      rules.parallel_calls = chat->parallel_tool_calls;
    }
    for (int i = 0; i < api::num_choices(request); ++i) outputs_.emplace_back(i, rules);
    const size_t most = static_cast<size_t>(api::generation(request).max_tokens.value_or(1 << 30));
    size_ = std::min(answer.tokens.size(), most);
    cut_ = most < answer.tokens.size() || !answer.stops;
  }

  void begin() { sink_->on_event(api::Started{answer_.prompt_tokens, 0}); }
  void fail(ErrorCode code, const char* why) { sink_->on_event(api::Failed{error(code, "{}", why)}); }

  // The next token, or the end; false after the end.
  bool step() {
    if (cancelled) {
      fail(ErrorCode::kCancelled, "the request was cancelled");
      return false;
    }
    if (next_ == size_) {
      end();
      return false;
    }
    for (server::ChoiceOutput& output : outputs_) emit(output.append(answer_.tokens[next_]));
    ++next_;
    return true;
  }
  Duration pause() const { return next_ == 0 ? answer_.first : next_ == size_ ? Duration{} : answer_.each; }

  std::atomic<bool> cancelled{false};

 private:
  void emit(std::vector<api::Delta> deltas) {
    for (api::Delta& delta : deltas) sink_->on_event(std::move(delta));
  }
  void end() {
    api::Done done;
    done.usage.prompt_tokens = answer_.prompt_tokens;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      emit(outputs_[i].finish());
      sink_->on_event(api::Finish{static_cast<int>(i), server::finish_reason(!cut_, &outputs_[i]), ""});
      done.usage.completion_tokens += static_cast<int>(size_);
      done.usage.reasoning_tokens += outputs_[i].reasoning_tokens();
    }
    sink_->on_event(done);
  }

  const ScriptedAnswer& answer_;
  std::shared_ptr<api::EventSink> sink_;
  std::vector<server::ChoiceOutput> outputs_;
  size_t size_ = 0;  // tokens to say
  bool cut_ = false;
  size_t next_ = 0;
};

ScriptedBackend::ScriptedBackend(Script script) : script_(std::move(script)), thread_([this] { play(); }) {}

ScriptedBackend::~ScriptedBackend() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (; !due_.empty(); due_.pop()) due_.top().run->fail(ErrorCode::kUnavailable, "the server is shutting down");
}

const ScriptedAnswer* ScriptedBackend::answer_to(const api::Request& request) const {
  const std::string text = last_text(request);
  for (const ScriptedAnswer& answer : script_.answers) {
    if (text.find(answer.when) != std::string::npos) return &answer;
  }
  return nullptr;
}

std::unique_ptr<api::Call> ScriptedBackend::start(api::Request request, std::shared_ptr<api::EventSink> sink) {
  class Handle final : public api::Call {
   public:
    explicit Handle(std::shared_ptr<Run> run) : run_(std::move(run)) {}
    void cancel() override {
      if (run_) run_->cancelled = true;  // seen when its next token is due
    }

   private:
    std::shared_ptr<Run> run_;
  };
  const ScriptedAnswer* answer = answer_to(request);
  if (!answer) {
    sink->on_event(api::Failed{error(ErrorCode::kNotFound, "the script has no answer to '{}'", last_text(request))});
    return std::make_unique<Handle>(nullptr);
  }
  auto run = std::make_shared<Run>(script_, *answer, request, std::move(sink));
  run->begin();
  {
    std::lock_guard lock(mutex_);
    due_.push({Clock::steady().now() + run->pause(), order_++, run});
  }
  changed_.notify_all();
  return std::make_unique<Handle>(std::move(run));
}

void ScriptedBackend::play() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (due_.empty()) {
      changed_.wait(lock);
      continue;
    }
    if (const TimePoint at = due_.top().at; at > Clock::steady().now()) {
      changed_.wait_until(lock, at);
      continue;
    }
    Due due = due_.top();
    due_.pop();
    lock.unlock();
    const bool more = due.run->step();
    lock.lock();
    if (more)
      due_.push({std::max(due.at, Clock::steady().now() - due.run->pause()) + due.run->pause(), order_++, due.run});
  }
}

}  // namespace brio::scripted
