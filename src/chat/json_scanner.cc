#include "chat/json_scanner.h"

namespace brio::chat {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

JsonScanner::Step JsonScanner::feed(char c) {
  if (state_ == State::kString || state_ == State::kEscape || state_ == State::kHex) return string(c);
  if (state_ == State::kLiteral) {
    if (left_.empty() || left_[0] != c) return Step::kBad;
    left_.remove_prefix(1);
    return left_.empty() ? go(State::kAfterValue) : Step::kMore;
  }
  if (state_ >= State::kSign) return number(c);
  if (state_ == State::kOpening) return c == '{' || c == '[' ? open(c) : Step::kBad;
  if (is_space(c)) return Step::kMore;
  switch (state_) {
    case State::kFirstValue:
      return c == ']' ? close(c) : value(c);
    case State::kValue:
      return value(c);
    case State::kFirstKey:
      if (c == '}') return close(c);
      [[fallthrough]];
    case State::kKey:
      is_key_ = true;
      return c == '"' ? go(State::kString) : Step::kBad;
    case State::kColon:
      return c == ':' ? go(State::kValue) : Step::kBad;
    default:
      return after_value(c);
  }
}

JsonScanner::Step JsonScanner::value(char c) {
  switch (c) {
    case '{':
    case '[':
      return open(c);
    case '"':
      is_key_ = false;
      return go(State::kString);
    case 't':
      left_ = "rue";
      return go(State::kLiteral);
    case 'f':
      left_ = "alse";
      return go(State::kLiteral);
    case 'n':
      left_ = "ull";
      return go(State::kLiteral);
    case '-':
      return go(State::kSign);
    case '0':
      return go(State::kZero);
    default:
      return is_digit(c) ? go(State::kInteger) : Step::kBad;
  }
}

JsonScanner::Step JsonScanner::open(char c) {
  if (open_.size() >= kMaxDepth) return Step::kBad;
  open_.push_back(c);
  return go(c == '{' ? State::kFirstKey : State::kFirstValue);
}

JsonScanner::Step JsonScanner::close(char c) {
  if (open_.back() != (c == '}' ? '{' : '[')) return Step::kBad;
  open_.pop_back();
  state_ = State::kAfterValue;
  return open_.empty() ? Step::kEnd : Step::kMore;
}

JsonScanner::Step JsonScanner::after_value(char c) {
  if (open_.empty()) return Step::kBad;  // behind the end
  if (c == ',') return go(open_.back() == '{' ? State::kKey : State::kValue);
  return c == '}' || c == ']' ? close(c) : Step::kBad;
}

JsonScanner::Step JsonScanner::string(char c) {
  if (state_ == State::kHex) {
    if (!is_hex(c)) return Step::kBad;
    return --hex_left_ == 0 ? go(State::kString) : Step::kMore;
  }
  if (state_ == State::kEscape) {
    if (c == 'u') {
      hex_left_ = 4;
      return go(State::kHex);
    }
    return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos ? go(State::kString) : Step::kBad;
  }
  if (c == '\\') return go(State::kEscape);
  if (c == '"') return go(is_key_ ? State::kColon : State::kAfterValue);
  return static_cast<uint8_t>(c) < 0x20 ? Step::kControl : Step::kMore;
}

JsonScanner::Step JsonScanner::number(char c) {
  const bool digit = is_digit(c);
  switch (state_) {
    case State::kSign:
      if (!digit) return Step::kBad;
      return go(c == '0' ? State::kZero : State::kInteger);
    case State::kPoint:
      return digit ? go(State::kFraction) : Step::kBad;
    case State::kExponent:
      if (c == '+' || c == '-') return go(State::kExponentSign);
      [[fallthrough]];
    case State::kExponentSign:
      return digit ? go(State::kExponentDigits) : Step::kBad;
    case State::kZero:
      if (digit) return Step::kBad;
      break;
    default:
      if (digit) return Step::kMore;
  }
  const bool whole = state_ == State::kZero || state_ == State::kInteger;
  if (c == '.' && whole) return go(State::kPoint);
  if ((c == 'e' || c == 'E') && state_ != State::kExponentDigits) return go(State::kExponent);
  state_ = State::kAfterValue;  // the number ended before this byte
  return is_space(c) ? Step::kMore : after_value(c);
}

}  // namespace brio::chat
