#include "chat/output_parser.h"

#include <utility>

namespace brio::chat {

OutputParser::OutputParser(const OutputFormat& format, ToolNames offered, bool reasoning_open) {
  if (format.reasoning) reasoning_.emplace(*format.reasoning, reasoning_open);
  if (format.tools) tools_.emplace(*format.tools, std::move(offered));
}

void OutputParser::append(std::string_view text, Pieces& out) {
  if (!reasoning_) return answer(text, out);
  answer(reasoning_->append(text, out), out);
}

void OutputParser::finish(Pieces& out) {
  if (reasoning_) answer(reasoning_->finish(out), out);
  if (tools_) tools_->finish(out);
}

void OutputParser::answer(std::string_view text, Pieces& out) {
  if (text.empty()) return;
  if (tools_) {
    tools_->append(text, out);
  } else {
    add_piece(out, PieceKind::kContent, text);
  }
}

std::vector<std::string_view> markers(const OutputFormat& format) {
  std::vector<std::string_view> out;
  if (format.reasoning) out.insert(out.end(), {format.reasoning->open, format.reasoning->close});
  if (!format.tools) return out;
  for (const CallMarker& marker : format.tools->markers) out.push_back(marker.text);
  out.insert(out.end(), format.tools->closers.begin(), format.tools->closers.end());
  out.insert(out.end(), format.tools->inner.begin(), format.tools->inner.end());
  return out;
}

}  // namespace brio::chat
