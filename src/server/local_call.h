// LocalCall: one api request on the engine. It becomes one engine request per prompt; their events are merged into one
// stream of native events. Inside server only, owned by the prompt queue, then by the sinks it gives to the engine.
//
// Threads: prepare() runs on a prompt thread, engine events come from the engine's, cancel() from anywhere. Events that
// come before Started has been sent wait for it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/backend.h"
#include "engine/engine.h"
#include "server/choice_output.h"
#include "server/loaded_model.h"
#include "server/output_grammars.h"
#include "telemetry/metrics.h"

namespace brio::server {

class LocalCall : public std::enable_shared_from_this<LocalCall> {
 public:
  // presence: held for as long as the call is under way.
  LocalCall(api::Request request, std::shared_ptr<api::EventSink> sink, const LoadedModel& model,
            engine::Engine& engine, OutputGrammars& grammars, telemetry::Metrics* metrics,
            std::shared_ptr<const int> presence = nullptr);

  void prepare();            // prompts -> engine, once
  void refuse(Error error);  // instead of prepare
  void cancel();

 private:
  class PromptSink;

  void submit_prompts();
  Result<std::vector<engine::GenerateRequest>> engine_requests();
  engine::GenerateRequest engine_request(std::vector<int32_t> prompt) const;
  Result<void> submit(std::vector<engine::GenerateRequest> requests);
  void began(int prompt_tokens);
  void echo(int prompt, const engine::PromptEvent* event);

  // From the engine, for one of the prompts.
  void on_prompt(int prompt, const engine::PromptEvent& event);
  void on_token(int prompt, const engine::TokenEvent& event);
  void on_choice_end(int prompt, const engine::ChoiceEnd& event);
  void on_end(int prompt, const engine::RequestEnd& event);

  api::PositionLogprobs logprobs(const engine::Logprobs& logprobs) const;
  api::TokenLogprob token_logprob(int32_t token, float logprob) const;
  void emit(api::Event event);
  void fail(Error error);  // the last event; engine requests that still run are aborted
  void abort_all();

  const api::Request request_;
  const std::shared_ptr<api::EventSink> sink_;
  const LoadedModel& model_;
  engine::Engine& engine_;
  OutputGrammars& grammars_;
  telemetry::Metrics* const metrics_;
  const std::shared_ptr<const int> presence_;
  std::shared_ptr<const grammar::CompiledGrammar> grammar_;  // of the output, where one is asked for
  std::vector<std::vector<int32_t>> echo_prompts_;           // ids of each prompt, where it is echoed
  std::vector<ChoiceOutput> outputs_;                        // of a chat, one per choice; used by the engine's thread

  std::mutex mutex_;
  std::vector<engine::RequestId> ids_;  // guarded, as is everything below
  std::vector<api::Event> held_;        // until Started is sent
  bool started_ = false;
  bool cancelled_ = false;
  bool ended_ = false;  // Done or Failed has been sent
  size_t unfinished_;   // prompts without on_end
  api::Done done_;
};

}  // namespace brio::server
