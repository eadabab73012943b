// What follows an operand: attributes, items, slices, calls, filters and tests; and the depth of trees.
#include <algorithm>
#include <utility>

#include "chat/expression_parser.h"

namespace brio::chat {
namespace {

int depth_of(const ExprPtr& expr) {
  return expr ? expr->depth : 0;
}
int depth_of(const std::vector<ExprPtr>& list) {
  int depth = 0;
  for (const ExprPtr& expr : list) depth = std::max(depth, depth_of(expr));
  return depth;
}
template <typename First>
int depth_of(const std::vector<std::pair<First, ExprPtr>>& list) {
  int depth = 0;
  for (const auto& entry : list) depth = std::max(depth, depth_of(entry.second));
  return depth;
}
int depth_of(const CallArguments& a) {
  return std::max({depth_of(a.positional), depth_of(a.named), depth_of(a.star), depth_of(a.double_star)});
}

int depth_below(const LiteralExpr&) {
  return 0;
}
int depth_below(const NameExpr&) {
  return 0;
}
int depth_below(const ListExpr& e) {
  return depth_of(e.items);
}
int depth_below(const DictExpr& e) {
  int depth = 0;
  for (const auto& [key, value] : e.entries) depth = std::max({depth, depth_of(key), depth_of(value)});
  return depth;
}
int depth_below(const UnaryExpr& e) {
  return depth_of(e.operand);
}
int depth_below(const BinaryExpr& e) {
  return std::max(depth_of(e.left), depth_of(e.right));
}
int depth_below(const LogicExpr& e) {
  return std::max(depth_of(e.left), depth_of(e.right));
}
int depth_below(const ConcatExpr& e) {
  return depth_of(e.parts);
}
int depth_below(const CompareExpr& e) {
  return std::max(depth_of(e.first), depth_of(e.rest));
}
int depth_below(const ConditionalExpr& e) {
  return std::max({depth_of(e.test), depth_of(e.then), depth_of(e.otherwise)});
}
int depth_below(const AttributeExpr& e) {
  return depth_of(e.object);
}
int depth_below(const ItemExpr& e) {
  return std::max(depth_of(e.object), depth_of(e.index));
}
int depth_below(const SliceExpr& e) {
  return std::max({depth_of(e.object), depth_of(e.start), depth_of(e.stop), depth_of(e.step)});
}
int depth_below(const CallExpr& e) {
  return std::max(depth_of(e.callee), depth_of(e.arguments));
}
int depth_below(const FilterExpr& e) {
  return std::max(depth_of(e.input), depth_of(e.arguments));
}
int depth_below(const TestExpr& e) {
  return std::max(depth_of(e.input), depth_of(e.arguments));
}

}  // namespace

Result<ExprPtr> ExpressionParser::make(ExprNode node) {
  const int depth = std::visit([](const auto& n) { return depth_below(n); }, node) + 1;
  if (depth > kMaxNesting) return too_deep();
  return std::make_unique<Expr>(Expr{std::move(node), depth});
}

Result<ExprPtr> ExpressionParser::postfix(ExprPtr operand) {
  while (true) {
    if (tokens_.skip_operator(".")) {
      BRIO_TRY(operand, subscript(std::move(operand)));
    } else if (tokens_.skip_operator("[")) {
      BRIO_TRY(operand, bracket(std::move(operand)));
    } else if (tokens_.at_operator("(")) {
      BRIO_TRY(CallArguments arguments, call_arguments());
      BRIO_TRY(operand, make(CallExpr{std::move(operand), std::move(arguments)}));
    } else {
      return operand;
    }
  }
}

Result<ExprPtr> ExpressionParser::filters_and_tests(ExprPtr operand) {
  while (true) {
    if (tokens_.skip_operator("|")) {
      BRIO_TRY(operand, filter(std::move(operand)));
    } else if (tokens_.skip_name("is")) {
      BRIO_TRY(operand, test(std::move(operand)));
    } else if (tokens_.at_operator("(")) {
      BRIO_TRY(CallArguments arguments, call_arguments());
      BRIO_TRY(operand, make(CallExpr{std::move(operand), std::move(arguments)}));
    } else {
      return operand;
    }
  }
}

// Behind the dot: x.name, or x.0 for x[0].
Result<ExprPtr> ExpressionParser::subscript(ExprPtr operand) {
  if (tokens_.at(TokenKind::kInteger)) {
    const int64_t index = tokens_.current().integer;
    tokens_.skip();
    BRIO_TRY(ExprPtr literal, make(LiteralExpr{Value::integer(index)}));
    return make(ItemExpr{std::move(operand), std::move(literal)});
  }
  BRIO_TRY(std::string name, tokens_.take_name("the name of an attribute"));
  return make(AttributeExpr{std::move(operand), std::move(name)});
}

// Behind the bracket: x[i], x[start:stop:step].
Result<ExprPtr> ExpressionParser::bracket(ExprPtr operand) {
  ExprPtr bounds[3];
  bool slice = false;
  for (ExprPtr& bound : bounds) {
    if (!tokens_.at_operator(":") && !tokens_.at_operator("]")) {
      BRIO_TRY(bound, expression());
    }
    const bool last = &bound == &bounds[2];
    if (last || !tokens_.skip_operator(":")) break;
    slice = true;
  }
  BRIO_TRY_OK(tokens_.expect_operator("]"));
  if (slice) {
    return make(SliceExpr{std::move(operand), std::move(bounds[0]), std::move(bounds[1]), std::move(bounds[2])});
  }
  if (!bounds[0]) return tokens_.fail("expected an index between the brackets");
  return make(ItemExpr{std::move(operand), std::move(bounds[0])});
}

Result<std::string> ExpressionParser::dotted_name(std::string_view what) {
  BRIO_TRY(std::string name, tokens_.take_name(what));
  while (tokens_.skip_operator(".")) {
    BRIO_TRY(std::string part, tokens_.take_name(what));
    name += "." + part;
  }
  return name;
}

Result<ExprPtr> ExpressionParser::filter(ExprPtr input) {
  BRIO_TRY(std::string name, dotted_name("the name of a filter"));
  CallArguments arguments;
  if (tokens_.at_operator("(")) {
    BRIO_TRY(arguments, call_arguments());
  }
  return make(FilterExpr{std::move(input), std::move(name), std::move(arguments)});
}

Result<ExprPtr> ExpressionParser::filter_chain() {
  BRIO_TRY(ExprPtr chain, filter(nullptr));
  while (tokens_.skip_operator("|")) {
    BRIO_TRY(chain, filter(std::move(chain)));
  }
  return chain;
}

// Behind "is". A single argument needs no parentheses: x is divisibleby 3.
Result<ExprPtr> ExpressionParser::test(ExprPtr input) {
  const bool negated = tokens_.skip_name("not");
  BRIO_TRY(std::string name, dotted_name("the name of a test"));
  CallArguments arguments;
  const TokenKind kind = tokens_.current().kind;
  const bool starts_operand =
      kind == TokenKind::kString || kind == TokenKind::kInteger || kind == TokenKind::kFloat ||
      tokens_.at_operator("[") || tokens_.at_operator("{") ||
      (kind == TokenKind::kName && !tokens_.at_name("else") && !tokens_.at_name("or") && !tokens_.at_name("and"));
  if (tokens_.at_operator("(")) {
    BRIO_TRY(arguments, call_arguments());
  } else if (starts_operand) {
    if (tokens_.at_name("is")) return tokens_.fail("tests cannot be chained with 'is'");
    const Nesting nesting(nesting_);
    if (nesting.too_deep()) return too_deep();
    BRIO_TRY(ExprPtr argument, primary());
    BRIO_TRY(argument, postfix(std::move(argument)));
    arguments.positional.push_back(std::move(argument));
  }
  BRIO_TRY(ExprPtr value, make(TestExpr{std::move(input), std::move(name), std::move(arguments)}));
  if (!negated) return value;
  return make(UnaryExpr{UnaryOp::kNot, std::move(value)});
}

Result<CallArguments> ExpressionParser::call_arguments() {
  BRIO_TRY_OK(tokens_.expect_operator("("));
  CallArguments arguments;
  while (!tokens_.at_operator(")")) {
    BRIO_TRY_OK(call_argument(arguments));
    if (!tokens_.skip_operator(",")) break;
  }
  BRIO_TRY_OK(tokens_.expect_operator(")"));
  return arguments;
}

Result<void> ExpressionParser::call_argument(CallArguments& arguments) {
  if (arguments.double_star) return tokens_.fail("no argument may follow **");
  if (tokens_.skip_operator("**")) {
    BRIO_TRY(arguments.double_star, expression());
  } else if (tokens_.at_operator("*")) {
    if (arguments.star) return tokens_.fail("a call takes one * argument");
    tokens_.skip();
    BRIO_TRY(arguments.star, expression());
  } else if (tokens_.at(TokenKind::kName) && tokens_.ahead().kind == TokenKind::kOperator &&
             tokens_.ahead().text == "=") {
    std::string name = tokens_.current().text;
    tokens_.skip();
    tokens_.skip();
    BRIO_TRY(ExprPtr value, expression());
    arguments.named.emplace_back(std::move(name), std::move(value));
  } else {
    if (arguments.star || !arguments.named.empty()) {
      return tokens_.fail("a positional argument may not follow named ones");
    }
    BRIO_TRY(ExprPtr value, expression());
    arguments.positional.push_back(std::move(value));
  }
  return {};
}

}  // namespace brio::chat
