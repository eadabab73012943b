// OutputParser: what a model writes, as it comes, in pieces of content, reasoning and tool calls. Behind the detokenizer
// and stop strings, before api's events. One per choice, one thread.
//
//   OutputParser parser({tools, reasoning}, names, reasoning_open);
//   for each text: parser.append(text, pieces);
//   parser.finish(pieces);
//
// The pieces joined are the text, and do not depend on how it was cut: fuzzed by output_parser_fuzz.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reasoning_parser.h"
#include "chat/tool_call_parser.h"

namespace brio::chat {

// How one model writes; null: that it does not.
struct OutputFormat {
  const ToolFormat* tools = nullptr;
  const ReasoningFormat* reasoning = nullptr;
};

class OutputParser {
 public:
  // offered: the functions of the request. reasoning_open: the prompt has opened the span (opens_reasoning).
  OutputParser(const OutputFormat& format, ToolNames offered, bool reasoning_open);

  void append(std::string_view text, Pieces& out);
  void finish(Pieces& out);  // the end of the text; what was held back comes out
  bool in_reasoning() const { return reasoning_ && reasoning_->inside(); }

 private:
  void answer(std::string_view text, Pieces& out);

  std::optional<ReasoningParser> reasoning_;
  std::optional<ToolCallParser> tools_;
};

// The markers of a format: those which are control tokens have to be part of the output's text.
std::vector<std::string_view> markers(const OutputFormat& format);

}  // namespace brio::chat
