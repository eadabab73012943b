// Lexer: template source -> tokens. Decides what whitespace around tags survives (trim_blocks, lstrip_blocks, `-`,
// `+`), so the parser only sees text that will be printed, and code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brio::chat {

enum class TokenKind : uint8_t {
  kText,           // printed as it stands
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kName,
  kString,    // text: after escapes
  kInteger,   // integer
  kFloat,     // real
  kOperator,  // text: "+", "**", "==", ...
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  size_t offset = 0;  // in the source after newline normalisation
  std::string text;
  int64_t integer = 0;
  double real = 0;
};

// "3:14", counted from 1; columns in characters.
std::string position_of(std::string_view source, size_t offset);
int line_of(std::string_view source, size_t offset);

// Newlines as Jinja sees them: \r\n and \r become \n, one final newline goes.
std::string normalise_newlines(std::string_view source);

// source must be normalised. The last token is kEnd. Errors name the position.
Result<std::vector<Token>> tokenize(std::string_view source, std::string_view name);

// An error at a place of the source.
Error syntax_error(std::string_view name, std::string_view source, size_t offset, std::string_view what);

}  // namespace brio::chat
