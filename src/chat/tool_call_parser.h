// ToolCallParser: finds the tool calls of one family in text that arrives in pieces. Arguments are passed on while they
// arrive; what is held back meanwhile is at most the white space and the beginning of a call that may turn out to be
// neither. Whatever looks like a call and is none stays content; once a call has begun, what does not belong to it does.
//
// One per choice, one thread. The pieces do not depend on how the text was cut (but for where equal neighbours are cut).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/json_scanner.h"
#include "chat/output_piece.h"
#include "chat/tool_format.h"

namespace brio::chat {

using ToolNames = std::shared_ptr<const std::vector<std::string>>;

class ToolCallParser {
 public:
  // offered: the functions of the request.
  ToolCallParser(const ToolFormat& format, ToolNames offered);

  void append(std::string_view text, Pieces& out);
  void finish(Pieces& out);  // the end of the text

 private:
  enum class State : uint8_t {
    kStart,  // nothing but white space so far
    kText,
    kHead,  // behind a marker
    kArguments,
    kObjectEnd,  // behind arguments that are a member of an object
    kBetween,    // behind a call
  };

  std::string_view rest() const { return std::string_view(held_).substr(used_); }
  bool step(Pieces& out);  // false: it takes more text
  bool start();
  bool text(Pieces& out);
  bool head(Pieces& out);
  bool arguments(Pieces& out);
  bool object_end(Pieces& out);
  bool between(Pieces& out);

  void begin_head(size_t gap, const CallMarker* marker);
  void begin_call(const CallHead& head, Pieces& out);
  void not_a_call(Pieces& out);
  void take(size_t bytes, PieceKind kind, Pieces& out);
  size_t gap_after_call() const;  // white space and separators at the front of rest()
  const std::string_view* closer_at(size_t at) const;
  bool begins_closer(std::string_view end) const;  // might become one
  bool begins_marker(std::string_view end) const;
  bool may_close(std::string_view closer) const;
  bool is_offered(std::string_view name) const;

  const ToolFormat& format_;
  ToolNames offered_;
  State state_ = State::kStart;
  std::string held_;  // what has not become a piece yet, behind its first used_ bytes
  size_t used_ = 0;
  std::string gap_;                     // in front of the head that is read
  const CallMarker* marker_ = nullptr;  // of that head
  JsonScanner scanner_;
  bool in_object_ = false;   // the arguments are a member
  bool wrote_text_ = false;  // since the last call
  bool in_fence_ = false;
  bool in_list_ = false;
};

}  // namespace brio::chat
