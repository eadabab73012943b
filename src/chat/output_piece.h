// What a model wrote, in pieces: which bytes are text for the user, which are reasoning, which are tool calls. The pieces
// of an answer, one after the other, are the answer itself: no byte is lost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brio::chat {

enum class PieceKind : uint8_t {
  kContent,
  kReasoning,
  kCallName,   // a tool call begins: the function's name, whole
  kArguments,  // JSON text of the last call's arguments
  kControl,    // raw control characters in a string of the arguments, which JSON wants escaped
  kMarkup,     // markers, syntax around names and arguments, white space beside markers: for nobody
};

struct Piece {
  PieceKind kind = PieceKind::kContent;
  std::string text;
  bool operator==(const Piece&) const = default;
};

using Pieces = std::vector<Piece>;

// Adds to the last piece where it is of the same kind; every name is a piece of its own.
inline void add_piece(Pieces& out, PieceKind kind, std::string_view text) {
  if (text.empty()) return;
  if (!out.empty() && out.back().kind == kind && kind != PieceKind::kCallName) {
    out.back().text.append(text);
  } else {
    out.push_back({kind, std::string(text)});
  }
}

}  // namespace brio::chat
