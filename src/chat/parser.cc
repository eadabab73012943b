#include "chat/parser.h"

#include <initializer_list>
#include <utility>

#include "chat/expression_parser.h"

namespace brio::chat {
namespace {

constexpr int kMaxBlocks = 60;  // nested blocks: each costs a few hundred bytes of stack when parsed and rendered

class Parser {
 public:
  explicit Parser(TokenStream tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Result<Block> run() {
    BRIO_TRY(Block block, body({}));
    return block;
  }

 private:
  using EndTags = std::initializer_list<std::string_view>;

  // Statements up to one of the end tags, whose name is then the current token; without end tags up to the end.
  Result<Block> body(EndTags end_tags);
  // The same behind the head of a tag: "%}" statements "{% end %}". Moves behind the name of the end tag.
  Result<Block> tag_body(std::string_view end_tag);
  Result<void> head_end();  // "%}", or ":%}" as in Python
  Result<Statement> statement();
  Result<Statement> statement_of(const std::string& tag);

  Result<Statement> output();
  Result<Statement> if_block();
  Result<Statement> for_loop();
  Result<Statement> set();
  Result<Statement> with_block();
  Result<Statement> filter_block();
  Result<Statement> macro();
  Result<Statement> call_block();
  Result<Statement> loop_control(bool is_break);

  Result<Target> target();
  Result<Target> single_target();
  Result<void> signature(MacroDefinition& macro);
  Result<std::shared_ptr<const MacroDefinition>> macro_body(MacroDefinition macro, std::string_view end_tag);

  template <typename Node>
  static Statement make(Node node) {
    return Statement{std::move(node), 0};
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int blocks_ = 0;
  int loops_ = 0;  // open loops that break and continue may leave
};

Result<Block> Parser::body(EndTags end_tags) {
  Block block;
  while (!tokens_.at(TokenKind::kEnd)) {
    const int line = tokens_.line();
    if (tokens_.at(TokenKind::kText)) {
      block.push_back(Statement{TextStatement{Value::literal(tokens_.current().text)}, line});
      tokens_.skip();
    } else if (tokens_.at(TokenKind::kVariableBegin)) {
      tokens_.skip();
      BRIO_TRY(Statement printed, output());
      printed.line = line;
      block.push_back(std::move(printed));
    } else {
      BRIO_TRY_OK(tokens_.expect(TokenKind::kBlockBegin, "a tag"));
      for (const std::string_view end : end_tags) {
        if (tokens_.at_name(end)) return block;
      }
      BRIO_TRY(Statement inner, statement());
      inner.line = line;
      block.push_back(std::move(inner));
      BRIO_TRY_OK(tokens_.expect(TokenKind::kBlockEnd, "'%}'"));
    }
  }
  if (end_tags.size() > 0) return tokens_.unexpected(fmt::format("'{{% {} %}}'", *end_tags.begin()));
  return block;
}

Result<void> Parser::head_end() {
  tokens_.skip_operator(":");
  return tokens_.expect(TokenKind::kBlockEnd, "'%}'");
}

Result<Block> Parser::tag_body(std::string_view end_tag) {
  BRIO_TRY_OK(head_end());
  BRIO_TRY(Block block, body({end_tag}));
  tokens_.skip();
  return block;
}

Result<Statement> Parser::output() {
  BRIO_TRY(ExprPtr value, expressions_.tuple());
  BRIO_TRY_OK(tokens_.expect(TokenKind::kVariableEnd, "'}}'"));
  return make(OutputStatement{std::move(value)});
}

Result<Statement> Parser::statement() {
  const size_t offset = tokens_.current().offset;
  BRIO_TRY(std::string tag, tokens_.take_name("the name of a tag"));
  if (++blocks_ > kMaxBlocks) return tokens_.fail_at(offset, "blocks are nested too deeply");
  Result<Statement> parsed = statement_of(tag);
  --blocks_;
  return parsed;
}

Result<Statement> Parser::statement_of(const std::string& tag) {
  if (tag == "if") return if_block();
  if (tag == "for") return for_loop();
  if (tag == "set") return set();
  if (tag == "with") return with_block();
  if (tag == "filter") return filter_block();
  if (tag == "macro") return macro();
  if (tag == "call") return call_block();
  if (tag == "break" || tag == "continue") return loop_control(tag == "break");
  if (tag == "generation") {
    const int loops = std::exchange(loops_, 0);  // jinja2 compiles it to a function of its own
    BRIO_TRY(Block inner, tag_body("endgeneration"));
    loops_ = loops;
    return make(GenerationStatement{std::move(inner)});
  }
  return tokens_.fail(fmt::format("'{}' is no tag, or has no place here", tag));
}

Result<Statement> Parser::if_block() {
  IfStatement node;
  while (true) {
    BRIO_TRY(ExprPtr condition, expressions_.tuple(ExpressionParser::Conditional::kNot));
    BRIO_TRY_OK(head_end());
    BRIO_TRY(Block then, body({"endif", "elif", "else"}));
    node.branches.emplace_back(std::move(condition), std::move(then));
    if (tokens_.skip_name("elif")) continue;
    if (tokens_.skip_name("else")) {
      BRIO_TRY(Block otherwise, tag_body("endif"));
      node.branches.emplace_back(nullptr, std::move(otherwise));
    } else {
      tokens_.skip();
    }
    return make(std::move(node));
  }
}

Result<Statement> Parser::for_loop() {
  BRIO_TRY(Target variables, target());
  BRIO_TRY_OK(tokens_.expect_name("in"));
  BRIO_TRY(ExprPtr iterable, expressions_.tuple(ExpressionParser::Conditional::kNot, "recursive"));
  ExprPtr filter;
  if (tokens_.skip_name("if")) {
    BRIO_TRY(filter, expressions_.expression());
  }
  const bool recursive = tokens_.skip_name("recursive");
  BRIO_TRY_OK(head_end());
  ++loops_;
  BRIO_TRY(Block inner, body({"endfor", "else"}));
  --loops_;
  Block otherwise;
  if (tokens_.skip_name("else")) {
    BRIO_TRY(otherwise, tag_body("endfor"));
  } else {
    tokens_.skip();
  }
  return make(ForStatement{std::move(variables), std::move(iterable), std::move(filter), recursive, std::move(inner),
                           std::move(otherwise)});
}

Result<Statement> Parser::loop_control(bool is_break) {
  if (loops_ == 0) return tokens_.fail("'break' and 'continue' need a loop around them");
  return is_break ? make(BreakStatement{}) : make(ContinueStatement{});
}

Result<Target> Parser::single_target() {
  Target result;
  if (tokens_.skip_operator("(")) {
    if (++blocks_ > kMaxBlocks) return tokens_.fail("this assignment is nested too deeply");
    BRIO_TRY(result, target());
    --blocks_;
    BRIO_TRY_OK(tokens_.expect_operator(")"));
    return result;
  }
  for (const std::string_view constant : {"true", "True", "false", "False", "none", "None"}) {
    if (tokens_.at_name(constant)) return tokens_.fail(fmt::format("'{}' cannot be assigned to", constant));
  }
  BRIO_TRY(result.name, tokens_.take_name("the name of a variable"));
  if (tokens_.skip_operator(".")) {
    BRIO_TRY(result.attribute, tokens_.take_name("the name of an attribute"));
  }
  return result;
}

Result<Target> Parser::target() {
  BRIO_TRY(Target first, single_target());
  if (!tokens_.at_operator(",")) return first;
  Target tuple;
  tuple.items.push_back(std::move(first));
  while (tokens_.skip_operator(",")) {
    if (!tokens_.at(TokenKind::kName) && !tokens_.at_operator("(")) break;
    if (tokens_.at_name("in")) break;
    BRIO_TRY(Target next, single_target());
    tuple.items.push_back(std::move(next));
  }
  return tuple;
}

Result<Statement> Parser::set() {
  BRIO_TRY(Target variables, target());
  if (tokens_.skip_operator("=")) {
    BRIO_TRY(ExprPtr value, expressions_.tuple());
    return make(SetStatement{std::move(variables), std::move(value)});
  }
  ExprPtr filter;
  if (tokens_.skip_operator("|")) {
    BRIO_TRY(filter, expressions_.filter_chain());
  }
  BRIO_TRY(Block inner, tag_body("endset"));
  return make(SetBlockStatement{std::move(variables), std::move(filter), std::move(inner)});
}

Result<Statement> Parser::with_block() {
  WithStatement node;
  while (!tokens_.at(TokenKind::kBlockEnd)) {
    if (!node.variables.empty()) BRIO_TRY_OK(tokens_.expect_operator(","));
    BRIO_TRY(Target variable, single_target());
    BRIO_TRY_OK(tokens_.expect_operator("="));
    BRIO_TRY(ExprPtr value, expressions_.expression());
    node.variables.emplace_back(std::move(variable), std::move(value));
  }
  BRIO_TRY(node.body, tag_body("endwith"));
  return make(std::move(node));
}

Result<Statement> Parser::filter_block() {
  BRIO_TRY(ExprPtr chain, expressions_.filter_chain());
  BRIO_TRY(Block inner, tag_body("endfilter"));
  return make(FilterStatement{std::move(chain), std::move(inner)});
}

// "(a, b=default)"
Result<void> Parser::signature(MacroDefinition& macro) {
  BRIO_TRY_OK(tokens_.expect_operator("("));
  bool had_default = false;
  while (!tokens_.at_operator(")")) {
    BRIO_TRY(std::string name, tokens_.take_name("the name of a parameter"));
    ExprPtr value;
    if (tokens_.skip_operator("=")) {
      BRIO_TRY(value, expressions_.expression());
      had_default = true;
    } else if (had_default) {
      return tokens_.fail("a parameter without default follows one that has a default");
    }
    macro.parameters.emplace_back(std::move(name), std::move(value));
    if (!tokens_.skip_operator(",")) break;
  }
  return tokens_.expect_operator(")");
}

Result<std::shared_ptr<const MacroDefinition>> Parser::macro_body(MacroDefinition macro, std::string_view end_tag) {
  const int loops = std::exchange(loops_, 0);
  expressions_.open_macros().emplace_back();
  BRIO_TRY(macro.body, tag_body(end_tag));
  const MacroNames used = expressions_.open_macros().back();
  expressions_.open_macros().pop_back();
  loops_ = loops;
  macro.uses_caller = used.caller;
  macro.uses_varargs = used.varargs;
  macro.uses_kwargs = used.kwargs;
  return std::shared_ptr<const MacroDefinition>(std::make_shared<MacroDefinition>(std::move(macro)));
}

Result<Statement> Parser::macro() {
  MacroDefinition definition;
  BRIO_TRY(definition.name, tokens_.take_name("the name of a macro"));
  BRIO_TRY_OK(signature(definition));
  BRIO_TRY(auto parsed, macro_body(std::move(definition), "endmacro"));
  return make(MacroStatement{std::move(parsed)});
}

Result<Statement> Parser::call_block() {
  MacroDefinition caller;
  caller.name = "caller";
  if (tokens_.at_operator("(")) BRIO_TRY_OK(signature(caller));
  BRIO_TRY(ExprPtr call, expressions_.expression());
  if (!std::holds_alternative<CallExpr>(call->node)) return tokens_.fail("expected the call of a macro");
  BRIO_TRY(auto parsed, macro_body(std::move(caller), "endcall"));
  return make(CallStatement{std::move(call), std::move(parsed)});
}

}  // namespace

Result<Block> parse_template(std::string_view source, std::string_view name) {
  BRIO_TRY(std::vector<Token> tokens, tokenize(source, name));
  return Parser(TokenStream(source, name, std::move(tokens))).run();
}

}  // namespace brio::chat
