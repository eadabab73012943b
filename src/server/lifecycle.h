// Lifecycle: a serving process from start to exit. Listens first, so that /health answers 503 while the model loads;
// then serves; the first SIGTERM or SIGINT drains (no new calls, those under way finish), the second one ends at once.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "net/http_server.h"
#include "server/capacity.h"
#include "server/loaded_model.h"

namespace brio::server {

struct ServeOptions {
  std::string model;               // name or path
  std::vector<std::string> names;  // what clients may call it; empty: its own name
  LoadOptions load;
  CapacityRequest capacity;
  engine::EngineOptions engine;  // max_context and kv_bytes are filled in from capacity
  net::HttpServerOptions http;
  std::chrono::milliseconds drain_timeout{600'000};  // calls under way when it passes are cut off
};

// What there is to tell once the server answers.
struct Serving {
  const LoadedModel& model;
  Capacity capacity;
  engine::EngineStats stats;
  int64_t memory_limit_bytes = 0;
  std::string url;
};

struct ServeEvents {
  std::function<void(const std::string& url)> listening;
  std::function<void(const Serving& serving)> serving;
  std::function<void(int calls_under_way)> draining;
};

// Returns when the server has drained. Blocks SIGTERM and SIGINT for the process: call it from the main thread, once,
// before other threads exist. A signal while the model loads ends the process (exit code 128 + signal).
Result<void> serve(ServeOptions options, const ServeEvents& events);

}  // namespace brio::server
