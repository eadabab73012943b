// TokenStream: the parser's cursor over the tokens of a template.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/lexer.h"

namespace brio::chat {

class TokenStream {
 public:
  TokenStream(std::string_view source, std::string_view name, std::vector<Token> tokens)
      : source_(source), name_(name), tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool at(TokenKind kind) const { return current().kind == kind; }
  bool at_operator(std::string_view text) const { return at(TokenKind::kOperator) && current().text == text; }
  bool at_name(std::string_view text) const { return at(TokenKind::kName) && current().text == text; }

  void skip() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool skip_operator(std::string_view text) {
    const bool here = at_operator(text);
    if (here) skip();
    return here;
  }
  bool skip_name(std::string_view text) {
    const bool here = at_name(text);
    if (here) skip();
    return here;
  }

  Result<void> expect_operator(std::string_view text) {
    return skip_operator(text) ? Result<void>() : unexpected(fmt::format("'{}'", text));
  }
  Result<void> expect_name(std::string_view text) {
    return skip_name(text) ? Result<void>() : unexpected(fmt::format("'{}'", text));
  }
  Result<void> expect(TokenKind kind, std::string_view what) {
    if (!at(kind)) return unexpected(what);
    skip();
    return {};
  }
  Result<std::string> take_name(std::string_view what) {
    if (!at(TokenKind::kName)) return unexpected(what);
    std::string name = current().text;
    skip();
    return name;
  }

  Error unexpected(std::string_view wanted) const {
    return fail(fmt::format("expected {}, found {}", wanted, describe(current())));
  }
  Error fail(std::string_view what) const { return fail_at(current().offset, what); }
  Error fail_at(size_t offset, std::string_view what) const { return syntax_error(name_, source_, offset, what); }

  // Line of the current token; amortised linear over a parse, since the cursor only moves forward.
  int line() {
    const size_t offset = std::min(current().offset, source_.size());
    line_ += line_of(source_.substr(line_offset_, offset - line_offset_), offset) - 1;
    line_offset_ = offset;
    return line_;
  }

 private:
  static std::string describe(const Token& token) {
    switch (token.kind) {
      case TokenKind::kEnd:
        return "the end of the template";
      case TokenKind::kText:
        return "text";
      case TokenKind::kVariableBegin:
        return "'{{'";
      case TokenKind::kVariableEnd:
        return "'}}'";
      case TokenKind::kBlockBegin:
        return "'{%'";
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kString:
        return "a string";
      case TokenKind::kInteger:
      case TokenKind::kFloat:
        return "a number";
      default:
        return fmt::format("'{}'", token.text);
    }
  }

  std::string_view source_;
  std::string_view name_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 1;
  size_t line_offset_ = 0;
};

}  // namespace brio::chat
