#include "server/local_backend.h"

#include <chrono>
#include <utility>

#include "base/hash.h"
#include "base/numerics_id.h"
#include "server/local_call.h"

namespace brio::server {
namespace {

// Two: a prompt of a megabyte does not hold up the short ones behind it.
constexpr int kPromptThreads = 2;

// The call belongs to the queue and the engine while it runs: the handle only finds it.
class Handle final : public api::Call {
 public:
  explicit Handle(std::weak_ptr<LocalCall> call) : call_(std::move(call)) {}
  void cancel() override {
    if (const auto call = call_.lock()) call->cancel();
  }

 private:
  std::weak_ptr<LocalCall> call_;
};

}  // namespace

Result<std::shared_ptr<LocalBackend>> LocalBackend::create(LoadedModel model, engine::EngineOptions options,
                                                           telemetry::Metrics* metrics,
                                                           std::vector<std::string> names) {
  std::shared_ptr<LocalBackend> backend(new LocalBackend(std::move(model), std::move(names)));
  backend->metrics_ = metrics;
  BRIO_TRY(backend->engine_, engine::Engine::create(*backend->model_.model, backend->model_.tokenizer.get(),
                                                    std::move(options), metrics));
  backend->grammars_ = std::make_unique<OutputGrammars>(*backend->model_.tokenizer);
  backend->engine_->start();
  backend->prompts_ = std::make_unique<TaskQueue>(kPromptThreads);
  return backend;
}

LocalBackend::LocalBackend(LoadedModel model, std::vector<std::string> names)
    : model_(std::move(model)), names_(std::move(names)) {
  if (names_.empty()) names_.push_back(model_.name);
  created_ =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const model::Config& config = model_.model->config();
  const std::string function = fmt::format("{}/{}/{}/{}", model_.name, config.architecture,
                                           model_.model->weight_bytes(), tensor::name(config.kv_type));
  fingerprint_ = fmt::format("brio-n{}-{:016x}", kNumericsId, hash_bytes(function));
}

LocalBackend::~LocalBackend() {
  stop();
}

std::unique_ptr<api::Call> LocalBackend::start(api::Request request, std::shared_ptr<api::EventSink> sink) {
  auto call = std::make_shared<LocalCall>(std::move(request), std::move(sink), model_, *engine_, *grammars_, metrics_);
  auto handle = std::make_unique<Handle>(call);
  if (!prompts_->add([call] { call->prepare(); }))
    call->refuse(error(ErrorCode::kUnavailable, "the server is shutting down"));
  return handle;
}

api::Readiness LocalBackend::readiness() const {
  return api::Readiness::kReady;
}

std::vector<api::ModelInfo> LocalBackend::models() const {
  std::vector<api::ModelInfo> out;
  for (const std::string& name : names_) {
    out.push_back({name, engine_->max_context(), model_.chat_template.has_value(), created_});
  }
  return out;
}

bool LocalBackend::drain(Duration patience) {
  prompts_->finish();
  return engine_->drain(patience);
}

void LocalBackend::stop() {
  if (prompts_) prompts_->finish();
  if (engine_) engine_->stop();
}

}  // namespace brio::server
