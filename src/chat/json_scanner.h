// JsonScanner: checks a JSON object or array byte by byte as it arrives and says where it ends. Nothing is stored but the
// open brackets. Used for the arguments of tool calls, which are passed on while the model still writes them.
//
//   JsonScanner scanner;
//   for (char c : text) if (scanner.feed(c) == JsonScanner::Step::kEnd) break;
//
// The grammar is RFC 8259's but for one thing: a control character in a string is reported, not refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace brio::chat {

class JsonScanner {
 public:
  enum class Step : uint8_t {
    kMore,
    kEnd,      // this byte closed the object or array
    kBad,      // this byte cannot stand here: the scanner is of no more use
    kControl,  // a raw control character in a string, which JSON wants escaped; the string goes on
  };
  Step feed(char c);

 private:
  enum class State : uint8_t {
    kOpening,     // { or [
    kValue,       // a value
    kFirstValue,  // a value or ]
    kKey,         // a key
    kFirstKey,    // a key or }
    kColon,
    kAfterValue,  // a comma or the closing bracket
    kString,
    kEscape,  // behind a backslash
    kHex,     // behind \u
    kLiteral,
    kSign,  // of a number, and so on to its exponent
    kZero,
    kInteger,
    kPoint,
    kFraction,
    kExponent,
    kExponentSign,
    kExponentDigits,
  };
  static constexpr size_t kMaxDepth = 128;  // as deep as a request may nest

  Step value(char c);
  Step open(char c);
  Step close(char c);
  Step string(char c);
  Step number(char c);
  Step after_value(char c);
  Step go(State state) {
    state_ = state;
    return Step::kMore;
  }

  State state_ = State::kOpening;
  std::string open_;       // the brackets that are open, outermost first
  bool is_key_ = false;    // the string is a key
  int hex_left_ = 0;       // digits of \u to come
  std::string_view left_;  // of a literal
};

}  // namespace brio::chat
