#include "chat/tool_call_parser.h"

#include <algorithm>
#include <utility>

namespace brio::chat {
namespace {

constexpr std::string_view kSpace = " \n\r\t";
constexpr std::string_view kFence = "```";
constexpr std::string_view kListEnd = "]";

bool is_proper_prefix(std::string_view part, std::string_view whole) {
  return part.size() < whole.size() && whole.starts_with(part);
}

}  // namespace

ToolCallParser::ToolCallParser(const ToolFormat& format, ToolNames offered)
    : format_(format), offered_(std::move(offered)) {}

void ToolCallParser::append(std::string_view text, Pieces& out) {
  held_ += text;
  while (step(out)) {
  }
  held_.erase(0, used_);
  used_ = 0;
}

bool ToolCallParser::step(Pieces& out) {
  if (rest().empty()) return false;
  switch (state_) {
    case State::kStart:
      return start();
    case State::kText:
      return text(out);
    case State::kHead:
      return head(out);
    case State::kArguments:
      return arguments(out);
    case State::kObjectEnd:
      return object_end(out);
    case State::kBetween:
      break;
  }
  return between(out);
}

void ToolCallParser::finish(Pieces& out) {
  if (state_ == State::kHead) not_a_call(out);
  const bool call_syntax = state_ == State::kObjectEnd ||
                           (state_ == State::kBetween &&
                            (gap_after_call() == rest().size() || begins_closer(rest().substr(gap_after_call()))));
  take(rest().size(), call_syntax ? PieceKind::kMarkup : PieceKind::kContent, out);
}

// ---- text ----

bool ToolCallParser::start() {
  const size_t begin = rest().find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return false;
  const char first = rest()[begin];
  if (first == '{' || first == '[') {
    begin_head(begin, nullptr);
  } else {
    state_ = State::kText;
  }
  return true;
}

bool ToolCallParser::text(Pieces& out) {
  const std::string_view in = rest();
  size_t end = std::string_view::npos;
  const CallMarker* found = nullptr;
  for (const CallMarker& marker : format_.markers) {
    const size_t at = in.find(marker.text);
    if (at >= end) continue;
    end = at;
    found = &marker;
  }
  if (!found) {
    end = 0;
    while (end < in.size() && !begins_marker(in.substr(end))) ++end;
  }
  const size_t last = in.substr(0, end).find_last_not_of(kSpace);
  const size_t length = last == std::string_view::npos ? 0 : last + 1;
  wrote_text_ = wrote_text_ || length > 0;
  take(length, PieceKind::kContent, out);
  if (found) begin_head(end - length, found);
  return found != nullptr;
}

// ---- calls ----

// gap: bytes in front of the marker (null: none) or of the call itself.
void ToolCallParser::begin_head(size_t gap, const CallMarker* marker) {
  gap_ = rest().substr(0, gap);
  used_ += gap + (marker ? marker->text.size() : 0);
  marker_ = marker;
  state_ = State::kHead;
}

bool ToolCallParser::head(Pieces& out) {
  const std::string_view in = rest().substr(0, kMaxCallHead);
  const bool offered_only = marker_ ? marker_->offered_only : !in_list_;
  CallHead head;
  Match match = format_.read_head(marker_ ? marker_->text : std::string_view(), in, head);
  if (offered_only && !head.name.empty() && !is_offered(head.name)) match = Match::kNo;
  if (match == Match::kShort && in.size() < kMaxCallHead) return false;
  if (match == Match::kYes) {
    begin_call(head, out);
  } else {
    not_a_call(out);
  }
  return true;
}

void ToolCallParser::begin_call(const CallHead& head, Pieces& out) {
  // The newline that templates write in front of the first call is theirs; other white space behind text belongs to it.
  const bool newline = format_.newline_before && gap_.ends_with('\n');
  const size_t content = wrote_text_ ? gap_.size() - (newline ? 1 : 0) : 0;
  add_piece(out, PieceKind::kContent, std::string_view(gap_).substr(0, content));
  add_piece(out, PieceKind::kMarkup, std::string_view(gap_).substr(content));
  if (marker_) add_piece(out, PieceKind::kMarkup, marker_->text);

  const std::string_view text = rest().substr(0, head.size);
  const size_t first = text.find_first_not_of(kSpace);
  in_list_ = (in_list_ && !marker_) || text[first] == '[';
  in_fence_ = (in_fence_ && !marker_) || (marker_ && marker_->text.starts_with(kFence)) ||
              text.find(kFence) != std::string_view::npos;
  const auto before_name = static_cast<size_t>(head.name.data() - text.data());
  const size_t name = head.name.size();
  take(before_name, PieceKind::kMarkup, out);
  take(name, PieceKind::kCallName, out);
  take(text.size() - before_name - name, PieceKind::kMarkup, out);
  in_object_ = head.in_object;
  wrote_text_ = false;
  scanner_ = {};
  state_ = head.has_arguments ? State::kArguments : State::kBetween;
}

void ToolCallParser::not_a_call(Pieces& out) {
  add_piece(out, PieceKind::kContent, gap_);
  if (marker_) add_piece(out, PieceKind::kContent, marker_->text);
  wrote_text_ = true;
  state_ = State::kText;
}

bool ToolCallParser::arguments(Pieces& out) {
  const std::string_view in = rest();
  size_t begin = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const JsonScanner::Step step = scanner_.feed(in[i]);
    if (step == JsonScanner::Step::kMore) continue;
    if (step == JsonScanner::Step::kControl) {
      add_piece(out, PieceKind::kArguments, in.substr(begin, i - begin));
      add_piece(out, PieceKind::kControl, in.substr(i, 1));
      begin = i + 1;
      continue;
    }
    const bool whole = step == JsonScanner::Step::kEnd;
    const size_t end = i + (whole ? 1 : 0);
    add_piece(out, PieceKind::kArguments, in.substr(begin, end - begin));
    used_ += end;
    state_ = !whole ? State::kText : in_object_ ? State::kObjectEnd : State::kBetween;
    return true;
  }
  add_piece(out, PieceKind::kArguments, in.substr(begin));
  used_ += in.size();
  return false;
}

bool ToolCallParser::object_end(Pieces& out) {
  size_t size = 0;
  const Match match = read_object_end(rest(), size);
  if (match == Match::kShort && rest().size() < kMaxCallHead) return false;
  if (match == Match::kYes) take(size, PieceKind::kMarkup, out);
  state_ = State::kBetween;  // a missing brace is forgiven
  return true;
}

bool ToolCallParser::between(Pieces& out) {
  const size_t gap = gap_after_call();
  if (gap == rest().size()) return false;
  if (const std::string_view* closer = closer_at(gap)) {
    in_list_ = in_list_ && *closer != kListEnd;
    in_fence_ = in_fence_ && *closer != kFence;
    take(gap + closer->size(), PieceKind::kMarkup, out);
    return true;
  }
  const std::string_view in = rest().substr(gap);
  for (const CallMarker& marker : format_.markers) {
    if (!in.starts_with(marker.text)) continue;
    begin_head(gap, &marker);
    return true;
  }
  if (begins_closer(in) || begins_marker(in)) return false;
  if (in[0] == '{') {
    begin_head(gap, nullptr);
  } else {
    state_ = State::kText;
  }
  return true;
}

// ---- looking at the text ----

void ToolCallParser::take(size_t bytes, PieceKind kind, Pieces& out) {
  add_piece(out, kind, rest().substr(0, bytes));
  used_ += bytes;
}

size_t ToolCallParser::gap_after_call() const {
  const std::string_view in = rest();
  size_t at = 0;
  while (at < in.size() &&
         (kSpace.find(in[at]) != std::string_view::npos || format_.separators.find(in[at]) != std::string_view::npos)) {
    ++at;
  }
  return at;
}

bool ToolCallParser::may_close(std::string_view closer) const {
  return closer == kFence ? in_fence_ : closer == kListEnd ? in_list_ : true;
}

const std::string_view* ToolCallParser::closer_at(size_t at) const {
  for (const std::string_view& closer : format_.closers) {
    if (may_close(closer) && rest().substr(at).starts_with(closer)) return &closer;
  }
  return nullptr;
}

bool ToolCallParser::begins_closer(std::string_view end) const {
  return std::any_of(format_.closers.begin(), format_.closers.end(),
                     [&](std::string_view closer) { return may_close(closer) && is_proper_prefix(end, closer); });
}

bool ToolCallParser::begins_marker(std::string_view end) const {
  return std::any_of(format_.markers.begin(), format_.markers.end(),
                     [&](const CallMarker& marker) { return is_proper_prefix(end, marker.text); });
}

bool ToolCallParser::is_offered(std::string_view name) const {
  return offered_ && std::find(offered_->begin(), offered_->end(), name) != offered_->end();
}

}  // namespace brio::chat
