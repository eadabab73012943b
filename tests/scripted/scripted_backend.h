// ScriptedBackend: an api::Backend that answers from a file, for tests of everything in front of it (dialects, clients,
// load) and of agents that need fixed answers. Texts go through the parsers of tool calls and reasoning as a model's would.
// Part of the tests: `brio` cannot reach it.
//
//   {"model": "scripted", "context": 4096, "tool_parser": "hermes", "reasoning_parser": "think", "reasoning_open": false,
//    "answers": [{"when": "weather", "text": "...", "token_characters": 4, "first_ms": 0, "token_ms": 0,
//                 "prompt_tokens": 10, "finish": "stop"}, ...]}
//
// Only "answers" and "text" have to be there. The first answer whose "when" is part of the request's last message (or
// prompt) is given; one without "when" fits all. max_tokens and n are honoured; stop strings, sampling and logprobs are not.
//
// One thread waits for the time of the next token of all calls, so that waiting costs nothing.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "api/backend.h"
#include "base/clock.h"
#include "chat/output_parser.h"

namespace brio::scripted {

struct ScriptedAnswer {
  std::string when;
  std::vector<std::string> tokens;
  Duration first{};  // before the first token
  Duration each{};   // between tokens
  int prompt_tokens = 10;
  bool stops = true;  // false: the end is one by length
};

struct Script {
  std::string model = "scripted";
  int context = 4096;
  chat::OutputFormat output;
  bool reasoning_open = false;
  std::vector<ScriptedAnswer> answers;
};

Result<Script> read_script(const std::string& path);

class ScriptedBackend final : public api::Backend {
 public:
  explicit ScriptedBackend(Script script);
  ~ScriptedBackend() override;  // ends what is under way with kUnavailable

  std::unique_ptr<api::Call> start(api::Request request, std::shared_ptr<api::EventSink> sink) override;
  api::Readiness readiness() const override { return api::Readiness::kReady; }
  std::vector<api::ModelInfo> models() const override {
    return {{script_.model, script_.context, true, 1'700'000'000}};
  }
  std::string fingerprint() const override { return "scripted"; }

 private:
  class Run;
  struct Due {
    TimePoint at;
    uint64_t order;  // of equal times the first that asked
    std::shared_ptr<Run> run;
    bool operator>(const Due& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  const ScriptedAnswer* answer_to(const api::Request& request) const;
  void play();

  const Script script_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  uint64_t order_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace brio::scripted
