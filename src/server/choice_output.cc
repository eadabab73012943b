#include "server/choice_output.h"

#include <fmt/format.h>

#include <utility>

#include "server/call_id.h"

namespace brio::server {

std::vector<api::Delta> ChoiceOutput::append(std::string_view text) {
  chat::Pieces pieces;
  const bool reasoned = parser_.in_reasoning();
  parser_.append(text, pieces);
  if (reasoned || parser_.in_reasoning()) ++reasoning_tokens_;
  return deltas(pieces);
}

std::vector<api::Delta> ChoiceOutput::finish(std::string_view rest) {
  chat::Pieces pieces;
  parser_.append(rest, pieces);
  parser_.finish(pieces);
  std::vector<api::Delta> out = deltas(pieces);
  end_call(out);
  return out;
}

std::vector<api::Delta> ChoiceOutput::deltas(const chat::Pieces& pieces) {
  std::vector<api::Delta> out;
  for (const chat::Piece& piece : pieces) {
    switch (piece.kind) {
      case chat::PieceKind::kContent:
        if (out.empty() || out.back().text.empty()) out.push_back({choice_, "", {}});
        out.back().text += piece.text;
        break;
      case chat::PieceKind::kReasoning:
        if (out.empty() || out.back().reasoning.empty()) out.push_back({choice_, "", {}});
        out.back().reasoning += piece.text;
        break;
      case chat::PieceKind::kCallName:
        begin_call(piece.text, out);
        break;
      case chat::PieceKind::kArguments:
        add_arguments(piece.text, out);
        break;
      case chat::PieceKind::kControl:
        for (const char c : piece.text) add_arguments(fmt::format("\\u{:04x}", static_cast<unsigned char>(c)), out);
        break;
      case chat::PieceKind::kMarkup:
        break;
    }
  }
  return out;
}

void ChoiceOutput::begin_call(std::string_view name, std::vector<api::Delta>& out) {
  end_call(out);
  ++calls_;
  has_arguments_ = false;
  if (dropped()) return;
  api::ToolCallDelta call{calls_ - 1, short_ids_ ? random_short_call_id() : random_call_id(), std::string(name), ""};
  out.push_back({choice_, "", {}, "", std::move(call)});
}

void ChoiceOutput::add_arguments(std::string_view json, std::vector<api::Delta>& out) {
  has_arguments_ = true;
  if (dropped()) return;
  if (out.empty() || !out.back().tool_call || !out.back().tool_call->name.empty()) {
    out.push_back({choice_, "", {}, "", api::ToolCallDelta{calls_ - 1, "", "", ""}});
  }
  out.back().tool_call->arguments += json;
}

// A call without arguments is one with none.
void ChoiceOutput::end_call(std::vector<api::Delta>& out) {
  if (calls_ > 0 && !has_arguments_) add_arguments("{}", out);
}

}  // namespace brio::server
