#include "server/lifecycle.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <future>
#include <iterator>
#include <memory>
#include <optional>

#include "base/cpu.h"
#include "base/memory_reserve.h"
#include "server/local_backend.h"
#include "server/model_names.h"
#include "server/routes.h"

namespace brio::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{20};           // between looks at the signals while something else is awaited
constexpr milliseconds kFlushGrace{3'000};  // for the last bytes of answers that are complete

constexpr int kOtherDescriptors = 128;                    // standard streams, weights, polling
constexpr size_t kMemoryReserveBytes = size_t{16} << 20;  // a step of every sequence allocates far less
constexpr milliseconds kMemoryPatience{10'000};           // a request's memory is given back within a few steps

// SIGTERM and SIGINT, delivered only where somebody waits for them.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // The signal that came within the time, or 0.
  int wait(milliseconds most) const {
    const timespec timeout{most.count() / 1000, (most.count() % 1000) * 1'000'000};
    const int signal = sigtimedwait(&set_, nullptr, &timeout);
    return signal > 0 ? signal : 0;
  }

 private:
  sigset_t set_{};
};

void gauge(std::string& out, std::string_view name, std::string_view help, int64_t value) {
  fmt::format_to(std::back_inserter(out), "# HELP brio:{0} {1}\n# TYPE brio:{0} gauge\nbrio:{0} {2}\n", name, help,
                 value);
}

void counter(std::string& out, std::string_view name, std::string_view help, int64_t value) {
  fmt::format_to(std::back_inserter(out), "# HELP brio:{0} {1}\n# TYPE brio:{0} counter\nbrio:{0} {2}\n", name, help,
                 value);
}

// What is read when asked for, beside what telemetry has counted.
std::string live_metrics(const engine::EngineStats& engine, const net::HttpServerStats& http) {
  std::string out;
  gauge(out, "kv_blocks_used", "Referenced KV blocks of the fullest group, now.", engine.kv_used_blocks);
  gauge(out, "kv_blocks", "KV blocks of the fullest group.", engine.kv_total_blocks);
  gauge(out, "kv_bytes", "Bytes of the KV cache.", engine.kv_bytes);
  gauge(out, "http_connections", "Open connections.", http.open);
  counter(out, "http_connections_total", "Connections accepted.", http.accepted);
  counter(out, "http_connections_refused_total", "Connections over the limit.", http.refused);
  counter(out, "http_slow_readers_total", "Clients dropped because they did not read their answer.", http.slow_readers);
  counter(out, "http_clients_gone_total", "Clients that left before their answer was complete.", http.gone);
  counter(out, "http_bad_requests_total", "Requests that were not HTTP, too large or too slow.", http.bad_requests);
  counter(out, "http_out_of_memory_total", "Requests that failed for want of memory.", http.out_of_memory);
  return out;
}

// Loads in a thread of its own, so that a signal ends the process at once instead of after the load.
Result<LoadedModel> load_or_exit(const ServeOptions& options, const Signals& signals) {
  auto loading = std::async(std::launch::async, [&options] { return load_model(options.model, options.load); });
  while (loading.wait_for(milliseconds(0)) != std::future_status::ready) {
    if (const int signal = signals.wait(kPoll)) std::_Exit(128 + signal);
  }
  return loading.get();
}

// Systems start a process with a soft limit, often 1024, far below what it may have.
void raise_descriptor_limit(int wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto enough = static_cast<rlim_t>(wanted);
  if (limit.rlim_cur >= enough) return;
  limit.rlim_cur = std::min(enough, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);  // refused: fewer clients at once
}

class Server {
 public:
  Server(ServeOptions options, const ServeEvents& events)
      : options_(std::move(options)),
        events_(events),
        routes_([this] { return metrics(); }, [this](std::string_view reason) { count_refused(reason); }) {}

  Result<void> listen() {
    options_.http.error_response = Routes::error_response;
    BRIO_TRY(http_, net::HttpServer::listen(options_.http, [this](auto request, auto responder) {
               routes_.handle(std::move(request), responder);
             }));
    const std::string& host = options_.http.host;
    const bool v6 = host.find(':') != std::string::npos;
    url_ = fmt::format("http://{}:{}", v6 ? "[" + host + "]" : host, http_->port());
    events_.listening(url_);
    return {};
  }

  Result<void> start() {
    BRIO_TRY(LoadedModel model, load_or_exit(options_, signals_));
    const int64_t limit = memory_limit_bytes();
    BRIO_TRY(const Capacity capacity, choose_capacity(*model.model, options_.capacity, limit));
    engine::EngineOptions engine = options_.engine;
    engine.max_context = capacity.context;
    engine.kv_bytes = capacity.kv_bytes;
    const auto named = std::find_if_not(options_.names.begin(), options_.names.end(), is_pattern);
    telemetry_ = std::make_unique<telemetry::Metrics>(named == options_.names.end() ? model.name : *named);
    BRIO_TRY(backend_, LocalBackend::create(std::move(model), std::move(engine), telemetry_.get(), options_.names));
    ready_.store(true);
    routes_.serve(backend_);
    events_.serving({backend_->model(), capacity, backend_->stats(), limit, url_});
    return {};
  }

  // Until the first signal, then until the calls under way are answered, or the second signal.
  void run() {
    while (signals_.wait(milliseconds(1'000)) == 0) {
    }
    routes_.drain();
    events_.draining(routes_.calls_under_way());
    backend_->drain(Duration{});  // a batch that waits for more requests starts with those it has
    const TimePoint deadline = Clock::steady().now() + options_.drain_timeout;
    bool forced = false;
    while (!forced && routes_.calls_under_way() > 0 && Clock::steady().now() < deadline) {
      forced = signals_.wait(kPoll) != 0;
    }
    backend_->stop();
    http_->stop(forced ? milliseconds(0) : kFlushGrace);
  }

 private:
  void count_refused(std::string_view reason) {
    if (ready_.load()) telemetry_->count_refused(reason);
  }

  std::string metrics() {
    if (!ready_.load()) return {};
    return telemetry_->exposition() + live_metrics(backend_->stats(), http_->stats());
  }

  const Signals signals_;  // first: every thread started later inherits the blocked signals
  ServeOptions options_;
  const ServeEvents& events_;
  std::unique_ptr<telemetry::Metrics> telemetry_;
  std::shared_ptr<LocalBackend> backend_;
  std::atomic<bool> ready_{false};  // telemetry_ and backend_ are there
  Routes routes_;
  std::string url_;
  std::unique_ptr<net::HttpServer> http_;  // last: stops before what its handlers use
};

}  // namespace

Result<void> serve(ServeOptions options, const ServeEvents& events) {
  raise_descriptor_limit(options.http.max_connections + kOtherDescriptors);
  MemoryReserve::install(kMemoryReserveBytes, kMemoryPatience);
  Server server(std::move(options), events);
  BRIO_TRY_OK(server.listen());
  BRIO_TRY_OK(server.start());
  server.run();
  return {};
}

}  // namespace brio::server
