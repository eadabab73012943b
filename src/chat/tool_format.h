// ToolFormat: how the models of one family write tool calls. A table per family, read by ToolCallParser.
//
//   hermes    <tool_call>{"name": ..., "arguments": {...}}</tool_call>        Qwen 2.5 and 3, Hermes, SmolLM3
//   llama3    <|python_tag|>{"name": ..., "parameters": {...}}; {...}          Llama 3.1 and later; the tag may be missing
//   mistral   [TOOL_CALLS] [{"name": ..., "arguments": {...}}, ...]           Mistral up to v7, or since v11
//             [TOOL_CALLS]name[ARGS]{...}[TOOL_CALLS]...                      (a [CALL_ID] may stand before [ARGS])
//   deepseek  <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>name\n```json\n{...}\n```<｜tool▁call▁end｜>...
//             V3.1 without the word "function" and the fence
//   json      {"name": ..., "parameters": {...}}, one or more, also in a ```json or ```tool_code fence: Gemma and every
//             template that knows no tools; they are described in the system message then (tool_prompt.h)
//
// "arguments" and "parameters" are the same to all. A JSON object counts as a call without any marker, too, where the answer
// begins with it or it follows a call, and its function has been offered.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/partial_reader.h"

namespace brio::chat {

// The front of a call: everything before its arguments.
struct CallHead {
  std::string_view name;
  size_t size = 0;            // bytes up to the arguments, or up to the end of a call without any
  bool has_arguments = true;  // they begin with the next byte, an opening brace
  bool in_object = false;     // the arguments are a member of an object, more members may follow
};

// marker: the one that was found in front, empty for a call without one. Reads at most kMaxCallHead bytes.
using ReadCallHead = Match (*)(std::string_view marker, std::string_view text, CallHead& out);
inline constexpr size_t kMaxCallHead = 1024;

struct CallMarker {
  std::string_view text;      // no marker of a family begins another one
  bool offered_only = false;  // what follows is a call only if its function has been offered
};

struct ToolFormat {
  std::string_view name;
  std::span<const CallMarker> markers;  // what calls begin with, in text
  // What may stand behind a call, with white space: never shown. A fence or bracket only where one was opened.
  std::span<const std::string_view> closers;
  std::span<const std::string_view> inner;  // other markers within calls
  std::string_view separators;  // single characters between calls: not shown where a call or a closer follows
  ReadCallHead read_head = nullptr;
  bool newline_before = false;  // templates write a newline between text and the first marker
};

std::span<const ToolFormat> tool_formats();

// Behind the arguments that are a member of an object: the bytes up to its closing brace.
Match read_object_end(std::string_view text, size_t& size);

// By the text of a chat template; null: it writes no calls that are known.
const ToolFormat* detect_tool_format(std::string_view chat_template);
// By name; kInvalidArgument lists the names.
Result<const ToolFormat*> find_tool_format(std::string_view name);

}  // namespace brio::chat
