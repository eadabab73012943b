// ReasoningParser: splits the reasoning off the front of an answer that arrives in pieces. A span of reasoning opens the
// answer, or has been opened by the prompt already: templates of some models end with the opening marker.
//
// White space inside the markers and behind the span belongs to the template. A marker further on is text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/output_piece.h"
#include "tokenizer/text_piece.h"

namespace brio::chat {

struct ReasoningFormat {
  std::string_view name;
  std::string_view open, close;
};

std::span<const ReasoningFormat> reasoning_formats();
// By the text of a chat template; null: it knows no reasoning.
const ReasoningFormat* detect_reasoning_format(std::string_view chat_template);
// By name; kInvalidArgument lists the names.
Result<const ReasoningFormat*> find_reasoning_format(std::string_view name);
// Whether the template itself (not what clients wrote) ends the prompt with the opening marker.
bool opens_reasoning(const ReasoningFormat& format, std::span<const tokenizer::TextPiece> prompt);

class ReasoningParser {
 public:
  ReasoningParser(const ReasoningFormat& format, bool open)
      : format_(format), state_(open ? State::kInside : State::kStart) {}

  // Returns what lies behind the reasoning: it is not among the pieces.
  std::string append(std::string_view text, Pieces& out);
  std::string finish(Pieces& out);
  bool inside() const { return state_ == State::kInside; }

 private:
  enum class State : uint8_t {
    kStart,   // nothing but white space so far
    kInside,  // behind the opening marker
    kBehind,  // behind the closing one, skipping white space
    kOver,
  };
  void start(Pieces& out);
  void inside(Pieces& out);
  void take(size_t bytes, PieceKind kind, Pieces& out);

  const ReasoningFormat& format_;
  State state_;
  bool begun_ = false;  // some reasoning has been written
  std::string held_;
};

}  // namespace brio::chat
