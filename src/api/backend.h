// Backend: the one interface of everything that answers requests, the local engine and (later) an upstream API. Routes
// see nothing else, so the gateway can stand in front of either.
//
//   std::unique_ptr<Call> call = backend.start(std::move(request), sink);   // returns at once
//   call->cancel();                                                         // the client went away
//
// start() and every other member may be called from any thread and never block on work. Events of one call arrive in
// order, one at a time, on a thread of the backend (possibly inside start()).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/event.h"
#include "api/request.h"
#include "base/clock.h"
#include "base/result.h"

namespace brio::api {

// Where the events of one call go. on_event must not block: it hands the event on. The backend keeps the sink alive
// until it has delivered Done or Failed.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(Event event) = 0;
};

// A running call. Destroying it lets the call run on; cancel() ends it within one step with Failed{kCancelled}, unless
// it has ended already. Calling cancel() twice, or late, is harmless.
class Call {
 public:
  virtual ~Call() = default;
  virtual void cancel() = 0;
};

enum class Readiness { kLoading, kReady, kDraining, kFailed };

// What there is to tell about a model beside its name.
struct ModelDetails {
  std::string architecture;   // "llama"
  std::string format;         // of the file: "gguf" or "safetensors"
  std::string quantization;   // of most weights: "Q8_0"
  std::string digest;         // 64 hexadecimal digits; equal for equal fingerprints
  std::string chat_template;  // its source, or empty
  int64_t parameters = 0;
  int64_t bytes = 0;  // of the weights in memory
  int hidden = 0;
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;
  int vocab = 0;
};

struct ModelInfo {
  std::string id;       // a name, or a pattern with '*' that names match
  int context = 0;      // tokens
  bool chat = false;    // has a chat template
  int64_t created = 0;  // seconds since 1970
  std::shared_ptr<const ModelDetails> details = std::make_shared<ModelDetails>();
};

// A prompt as the model gets it.
struct RenderedPrompt {
  std::string text;
  std::vector<int32_t> ids;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // What start() would compute, for counting tokens and looking at templates. `done` is called once, on a thread of the
  // backend; one prompt for a chat, all of them for a completion. Errors: start()'s before Started.
  using Rendered = std::function<void(Result<std::vector<RenderedPrompt>> prompts)>;
  // A backend that has no tokenizer says so with kUnsupported, as by default.
  virtual void render(Request request, Rendered done);
  // The text of token ids, control tokens included. Errors: kInvalidArgument names 'tokens'.
  virtual void detokenize(std::vector<int32_t> ids, std::function<void(Result<std::string> text)> done);
  virtual std::unique_ptr<Call> start(Request request, std::shared_ptr<EventSink> sink) = 0;
  virtual Readiness readiness() const = 0;
  // For how long there has been work without progress; zero when there is nothing to do.
  virtual Duration stalled() const { return Duration{}; }
  virtual std::vector<ModelInfo> models() const = 0;
  // Names the build, the weights and the numerics: equal fingerprints give equal answers to equal seeds.
  virtual std::string fingerprint() const = 0;
};

inline Error no_tokenizer() {
  return error(ErrorCode::kUnsupported, "what answers here cannot say how it reads text");
}
inline void Backend::render(Request /*request*/, Rendered done) {
  done(no_tokenizer());
}
inline void Backend::detokenize(std::vector<int32_t> /*ids*/, std::function<void(Result<std::string> text)> done) {
  done(no_tokenizer());
}

}  // namespace brio::api
