#include "server/local_backend.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/hash.h"
#include "base/memory_reserve.h"
#include "base/numerics_id.h"
#include "base/sha256.h"
#include "server/chat_prompt.h"
#include "server/local_call.h"
#include "server/model_names.h"

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
  backend->watch_ = std::make_unique<ProgressWatch>(options.batching.mode == engine::BatchingMode::kStatic);
  BRIO_TRY(backend->engine_, engine::Engine::create(*backend->model_.model, backend->model_.tokenizer.get(),
                                                    std::move(options), metrics));
  backend->grammars_ = std::make_unique<OutputGrammars>(*backend->model_.tokenizer);
  backend->engine_->start();
  backend->prompts_ = std::make_unique<TaskQueue>(kPromptThreads);
  return backend;
}

LocalBackend::LocalBackend(LoadedModel model, std::vector<std::string> names)
    : model_(std::move(model)), names_(std::move(names)) {
  if (std::all_of(names_.begin(), names_.end(), is_pattern)) names_.insert(names_.begin(), model_.name);
  created_ =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const model::Config& config = model_.model->config();
  const std::string function = fmt::format("{}/{}/{}/{}", model_.name, config.architecture,
                                           model_.model->weight_bytes(), tensor::name(config.kv_type));
  fingerprint_ = fmt::format("brio-n{}-{:016x}", kNumericsId, hash_bytes(function));
  auto details = std::make_shared<api::ModelDetails>(model_.details);
  Sha256 digest;
  digest.update(fingerprint_);
  details->digest = digest.finish();
  details_ = std::move(details);
}

LocalBackend::~LocalBackend() {
  stop();
}

std::unique_ptr<api::Call> LocalBackend::start(api::Request request, std::shared_ptr<api::EventSink> sink) {
  watch_->starting(calls_under_way(), Clock::steady().now());
  auto call = std::make_shared<LocalCall>(std::move(request), std::move(sink), model_, *engine_, *grammars_, metrics_,
                                          presence_);
  auto handle = std::make_unique<Handle>(call);
  if (!prompts_->add([call] { call->prepare(); }))
    call->refuse(error(ErrorCode::kUnavailable, "the server is shutting down"));
  return handle;
}

template <typename T, typename Work>
void LocalBackend::prepare(std::function<void(Result<T>)> done, Work work) {
  const bool added = prompts_->add([done, work = std::move(work)] {
    try {
      done(work());
    } catch (const std::bad_alloc&) {
      const MemoryReserve::Essential essential;
      done(error(ErrorCode::kOutOfMemory, "there is no memory for this request now"));
      MemoryReserve::refill();
    }
  });
  if (!added) done(error(ErrorCode::kUnavailable, "the server is shutting down"));
}

void LocalBackend::render(api::Request request, Rendered done) {
  prepare<std::vector<api::RenderedPrompt>>(
      std::move(done), [this, request = std::move(request)] { return rendered_prompts(model_, request); });
}

void LocalBackend::detokenize(std::vector<int32_t> ids, std::function<void(Result<std::string> text)> done) {
  prepare<std::string>(std::move(done), [this, ids = std::move(ids)]() -> Result<std::string> {
    BRIO_TRY_OK(check_ids(model_, ids, "tokens"));
    return model_.tokenizer->decode(ids, tokenizer::RenderSpecial::kYes);
  });
}

api::Readiness LocalBackend::readiness() const {
  return api::Readiness::kReady;
}

std::vector<api::ModelInfo> LocalBackend::models() const {
  std::vector<api::ModelInfo> out;
  for (const std::string& name : names_) {
    out.push_back({name, engine_->max_context(), model_.chat_template.has_value(), created_, details_});
  }
  return out;
}

Duration LocalBackend::stalled() const {
  return watch_->stalled(calls_under_way(), engine_->stats(), Clock::steady().now());
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
