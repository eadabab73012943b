// Backend: the one interface of everything that answers requests, the local engine and (later) an upstream API. Routes
// see nothing else, so the gateway can stand in front of either.
//
//   std::unique_ptr<Call> call = backend.start(std::move(request), sink);   // returns at once
//   call->cancel();                                                         // the client went away
//
// start() and every other member may be called from any thread and never block on work. Events of one call arrive in
// order, one at a time, on a thread of the backend (possibly inside start()).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/event.h"
#include "api/request.h"
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

struct ModelInfo {
  std::string id;
  int context = 0;      // tokens
  bool chat = false;    // has a chat template
  int64_t created = 0;  // seconds since 1970
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<Call> start(Request request, std::shared_ptr<EventSink> sink) = 0;
  virtual Readiness readiness() const = 0;
  virtual std::vector<ModelInfo> models() const = 0;
  // Names the build, the weights and the numerics: equal fingerprints give equal answers to equal seeds.
  virtual std::string fingerprint() const = 0;
};

}  // namespace brio::api
