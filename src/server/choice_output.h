// ChoiceOutput: the text of one choice to api's deltas: content, reasoning, tool calls with their index and id. Between
// the engine's text and api; the parsing itself is chat/output_parser.h. One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/event.h"
#include "chat/output_parser.h"

namespace brio::server {

// What is the same for all choices of a request.
struct OutputRules {
  chat::OutputFormat format;
  chat::ToolNames offered;
  bool reasoning_open = false;  // by the prompt
  bool parallel_calls = true;   // false: calls after the first are dropped
};

class ChoiceOutput {
 public:
  ChoiceOutput(int choice, const OutputRules& rules)
      : choice_(choice),
        short_ids_(rules.format.tools && rules.format.tools->name == "mistral"),
        max_calls_(rules.parallel_calls ? 0 : 1),
        parser_(rules.format, rules.offered, rules.reasoning_open) {}

  // The text of one token (or of several): what became certain of it.
  std::vector<api::Delta> append(std::string_view text);
  std::vector<api::Delta> finish(std::string_view rest = {});  // after the last token; rest: text that is no token's

  int calls() const { return calls_; }
  int reasoning_tokens() const { return reasoning_tokens_; }  // appended texts that were part of it

 private:
  std::vector<api::Delta> deltas(const chat::Pieces& pieces);
  void begin_call(std::string_view name, std::vector<api::Delta>& out);
  void add_arguments(std::string_view json, std::vector<api::Delta>& out);
  void end_call(std::vector<api::Delta>& out);
  bool dropped() const { return max_calls_ > 0 && calls_ > max_calls_; }

  const int choice_;
  const bool short_ids_;
  const int max_calls_;  // 0: any number
  chat::OutputParser parser_;
  int calls_ = 0;
  bool has_arguments_ = false;  // the last call
  int reasoning_tokens_ = 0;
};

// output: null where nothing is parsed.
inline api::FinishReason finish_reason(bool stopped, const ChoiceOutput* output) {
  if (!stopped) return api::FinishReason::kLength;
  return output && output->calls() > 0 ? api::FinishReason::kToolCalls : api::FinishReason::kStop;
}

}  // namespace brio::server
