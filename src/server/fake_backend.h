// FakeBackend: a Backend whose answers a test writes. By default every call waits in calls(); with `respond` set, it is
// answered by that function on a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "api/backend.h"

namespace brio::server {

class FakeBackend final : public api::Backend {
 public:
  struct Started {
    api::Request request;
    std::shared_ptr<api::EventSink> sink;
    std::shared_ptr<std::atomic<bool>> cancelled;
  };

  ~FakeBackend() override { join(); }
  // Waits for answers of `respond`: before the server that carries them is destroyed.
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::unique_ptr<api::Call> start(api::Request request, std::shared_ptr<api::EventSink> sink) override {
    auto call = std::make_unique<FakeCall>(*this);
    Started started{std::move(request), std::move(sink), call->cancelled};
    std::lock_guard lock(mutex_);
    if (respond) {
      threads_.emplace_back([this, started = std::move(started)] { respond(started); });
    } else {
      waiting_.push_back(std::move(started));
      changed_.notify_all();
    }
    return call;
  }
  // A byte is a token, and a chat is what its messages say.
  void render(api::Request request, Rendered done) override {
    std::vector<api::RenderedPrompt> out;
    const auto add = [&](const std::string& text) { out.push_back({text, {text.begin(), text.end()}}); };
    if (const auto* chat = std::get_if<api::ChatRequest>(&request)) {
      std::string text;
      for (const api::Message& message : chat->messages)
        text += message.role + ":" + message.content.value_or("") + ";";
      add(text);
    } else {
      for (const api::Prompt& prompt : std::get<api::CompletionRequest>(request).prompts) add(std::get<0>(prompt));
    }
    done(std::move(out));
  }
  void detokenize(std::vector<int32_t> ids, std::function<void(Result<std::string> text)> done) override {
    done(std::string(ids.begin(), ids.end()));
  }
  api::Readiness readiness() const override { return state; }
  Duration stalled() const override { return std::chrono::seconds(stalled_seconds); }
  std::vector<api::ModelInfo> models() const override {
    auto details = std::make_shared<api::ModelDetails>();
    details->architecture = "llama";
    details->parameters = 134'515'008;
    details->hidden = 576;
    return {{"fake", 4096, has_template, 1'700'000'000, details},
            {"alias", 4096, has_template, 0, details},
            {"claude-*", 4096, has_template, 0, details}};
  }
  std::string fingerprint() const override { return "fake-n1"; }

  // The next call; without a sink when none came within 20 seconds.
  Started take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !waiting_.empty(); })) return {};
    Started out = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    return out;
  }
  bool wait_cancelled(const Started& call) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return call.cancelled->load(); });
  }

  std::function<void(const Started& call)> respond;
  std::atomic<int> stalled_seconds{0};
  std::atomic<bool> has_template{true};  // the model has a chat template
  std::atomic<api::Readiness> state{api::Readiness::kReady};

 private:
  struct FakeCall final : api::Call {
    explicit FakeCall(FakeBackend& owner) : backend(owner) {}
    void cancel() override {
      std::lock_guard lock(backend.mutex_);
      cancelled->store(true);
      backend.changed_.notify_all();
    }
    FakeBackend& backend;
    std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Started> waiting_;
  std::vector<std::thread> threads_;
};

}  // namespace brio::server
