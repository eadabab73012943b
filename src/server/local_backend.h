// LocalBackend: the engine as a Backend. A request's prompt is rendered and tokenized on a thread of its own kind, then
// submitted to the engine; engine events become native events (local_call.h).
//
//   routes -> LocalBackend::start -> TaskQueue: chat_prompt -> Engine::submit -> LocalCall -> EventSink
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/backend.h"
#include "engine/engine.h"
#include "server/loaded_model.h"
#include "server/output_grammars.h"
#include "server/progress_watch.h"
#include "server/task_queue.h"

namespace brio::server {

class LocalBackend final : public api::Backend {
 public:
  // names: what clients may call the model, patterns (model_names.h) among them; none but patterns: its own name too.
  // Starts the engine's thread. metrics may be null and has to outlive the backend. Errors: Engine::create's.
  static Result<std::shared_ptr<LocalBackend>> create(LoadedModel model, engine::EngineOptions options,
                                                      telemetry::Metrics* metrics, std::vector<std::string> names);
  ~LocalBackend() override;  // stop()

  std::unique_ptr<api::Call> start(api::Request request, std::shared_ptr<api::EventSink> sink) override;
  void render(api::Request request, Rendered done) override;
  void detokenize(std::vector<int32_t> ids, std::function<void(Result<std::string> text)> done) override;
  api::Readiness readiness() const override;
  Duration stalled() const override;
  std::vector<api::ModelInfo> models() const override;
  std::string fingerprint() const override { return fingerprint_; }

  // Answers what was accepted; false when some is left after `patience`.
  bool drain(Duration patience);
  // Ends what is left with kCancelled. Every sink has had its last event afterwards.
  void stop();

  engine::EngineStats stats() const { return engine_->stats(); }
  const LoadedModel& model() const { return model_; }

 private:
  int64_t calls_under_way() const { return presence_.use_count() - 1; }
  // Runs work on a prompt thread; what it returns, or why it could not be run, goes to done.
  template <typename T, typename Work>
  void prepare(std::function<void(Result<T>)> done, Work work);
  LocalBackend(LoadedModel model, std::vector<std::string> names);

  LoadedModel model_;
  std::vector<std::string> names_;
  std::string fingerprint_;
  std::shared_ptr<const api::ModelDetails> details_;
  int64_t created_ = 0;
  telemetry::Metrics* metrics_ = nullptr;
  std::unique_ptr<OutputGrammars> grammars_;
  std::shared_ptr<const int> presence_ = std::make_shared<int>();  // every call under way holds it
  std::unique_ptr<ProgressWatch> watch_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<TaskQueue> prompts_;
};

}  // namespace brio::server
