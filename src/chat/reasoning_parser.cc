#include "chat/reasoning_parser.h"

#include <algorithm>
#include <utility>

namespace brio::chat {
namespace {

constexpr std::string_view kSpace = " \n\r\t";
constexpr ReasoningFormat kFormats[] = {{"think", "<think>", "</think>"}, {"mistral", "[THINK]", "[/THINK]"}};

size_t space_in_front(std::string_view text) {
  return std::min(text.find_first_not_of(kSpace), text.size());
}

// Where the longest end of the text that begins the marker starts.
size_t undecided_from(std::string_view text, std::string_view marker) {
  size_t at = text.size() - std::min(text.size(), marker.size() - 1);
  while (!marker.starts_with(text.substr(at))) ++at;
  return at;
}

}  // namespace

std::span<const ReasoningFormat> reasoning_formats() {
  return kFormats;
}

const ReasoningFormat* detect_reasoning_format(std::string_view chat_template) {
  for (const ReasoningFormat& format : kFormats) {
    if (chat_template.find(format.close) != std::string_view::npos) return &format;
    if (chat_template.find(format.open) != std::string_view::npos) return &format;
  }
  return nullptr;
}

Result<const ReasoningFormat*> find_reasoning_format(std::string_view name) {
  // Spellings of other servers.
  if (name == "deepseek_r1" || name == "qwen3") name = "think";
  if (name == "magistral") name = "mistral";
  std::string known;
  for (const ReasoningFormat& format : kFormats) {
    if (format.name == name) return &format;
    known += fmt::format(", {}", format.name);
  }
  return error(ErrorCode::kInvalidArgument, "there is no reasoning parser '{}'; there are auto, none{}", name, known);
}

bool opens_reasoning(const ReasoningFormat& format, std::span<const tokenizer::TextPiece> prompt) {
  if (prompt.empty() || !prompt.back().allow_special) return false;
  const std::string_view text = prompt.back().text;
  const size_t last = text.find_last_not_of(kSpace);
  return last != std::string_view::npos && text.substr(0, last + 1).ends_with(format.open);
}

std::string ReasoningParser::append(std::string_view text, Pieces& out) {
  held_ += text;
  if (state_ == State::kStart) start(out);
  if (state_ == State::kInside) inside(out);
  if (state_ == State::kBehind) {
    take(space_in_front(held_), PieceKind::kMarkup, out);
    if (!held_.empty()) state_ = State::kOver;
  }
  return state_ == State::kOver ? std::exchange(held_, {}) : std::string();
}

std::string ReasoningParser::finish(Pieces& out) {
  if (state_ == State::kInside) take(held_.size(), PieceKind::kReasoning, out);
  return std::exchange(held_, {});
}

void ReasoningParser::start(Pieces& out) {
  const size_t space = space_in_front(held_);
  const std::string_view rest = std::string_view(held_).substr(space);
  if (rest.starts_with(format_.open)) {
    take(space + format_.open.size(), PieceKind::kMarkup, out);
    state_ = State::kInside;
  } else if (!format_.open.starts_with(rest)) {
    state_ = State::kOver;
  }
}

void ReasoningParser::inside(Pieces& out) {
  if (!begun_) take(space_in_front(held_), PieceKind::kMarkup, out);
  const size_t close = held_.find(format_.close);
  const bool closed = close != std::string::npos;
  const size_t end = closed ? close : undecided_from(held_, format_.close);
  const size_t last = std::string_view(held_).substr(0, end).find_last_not_of(kSpace);
  const size_t length = last == std::string_view::npos ? 0 : last + 1;
  begun_ = begun_ || length > 0;
  take(length, PieceKind::kReasoning, out);
  if (!closed) return;
  take(end - length + format_.close.size(), PieceKind::kMarkup, out);
  state_ = State::kBehind;
}

void ReasoningParser::take(size_t bytes, PieceKind kind, Pieces& out) {
  add_piece(out, kind, std::string_view(held_).substr(0, bytes));
  held_.erase(0, bytes);
}

}  // namespace brio::chat
