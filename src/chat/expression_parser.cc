#include "chat/expression_parser.h"

#include <utility>

namespace brio::chat {
namespace {

template <typename Op>
struct Spelling {
  std::string_view text;
  Op op;
};
constexpr Spelling<CompareOp> kCompareOps[] = {{"==", CompareOp::kEqual},  {"!=", CompareOp::kNotEqual},
                                               {"<", CompareOp::kLess},    {"<=", CompareOp::kLessEqual},
                                               {">", CompareOp::kGreater}, {">=", CompareOp::kGreaterEqual}};
constexpr Spelling<BinaryOp> kSumOps[] = {{"+", BinaryOp::kAdd}, {"-", BinaryOp::kSubtract}};
constexpr Spelling<BinaryOp> kProductOps[] = {
    {"*", BinaryOp::kMultiply}, {"/", BinaryOp::kDivide}, {"//", BinaryOp::kFloorDivide}, {"%", BinaryOp::kModulo}};

// The operator at the cursor, which moves behind it; null if it is none of these.
template <typename Op, size_t n>
const Op* take_operator(TokenStream& tokens, const Spelling<Op> (&table)[n]) {
  for (const Spelling<Op>& spelling : table) {
    if (tokens.skip_operator(spelling.text)) return &spelling.op;
  }
  return nullptr;
}

}  // namespace

Result<ExprPtr> ExpressionParser::expression(Conditional conditional) {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return too_deep();
  BRIO_TRY(ExprPtr value, logical_or());
  if (conditional == Conditional::kNot) return value;
  while (tokens_.skip_name("if")) {
    BRIO_TRY(ExprPtr test, logical_or());
    ExprPtr otherwise;
    if (tokens_.skip_name("else")) {
      BRIO_TRY(otherwise, expression());
    }
    BRIO_TRY(value, make(ConditionalExpr{std::move(test), std::move(value), std::move(otherwise)}));
  }
  return value;
}

Result<ExprPtr> ExpressionParser::tuple(Conditional conditional, std::string_view stop_name) {
  std::vector<ExprPtr> items;
  bool comma = false;
  while (true) {
    if (tokens_.at(TokenKind::kVariableEnd) || tokens_.at(TokenKind::kBlockEnd) || tokens_.at_operator(")")) break;
    if (!stop_name.empty() && tokens_.at_name(stop_name)) break;
    BRIO_TRY(ExprPtr item, expression(conditional));
    items.push_back(std::move(item));
    if (!tokens_.skip_operator(",")) break;
    comma = true;
  }
  if (items.empty()) return tokens_.unexpected("an expression");
  if (!comma) return std::move(items.front());
  return make(ListExpr{ListForm::kTuple, std::move(items)});
}

Result<ExprPtr> ExpressionParser::logical_or() {
  BRIO_TRY(ExprPtr left, logical_and());
  while (tokens_.skip_name("or")) {
    BRIO_TRY(ExprPtr right, logical_and());
    BRIO_TRY(left, make(LogicExpr{LogicOp::kOr, std::move(left), std::move(right)}));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::logical_and() {
  BRIO_TRY(ExprPtr left, logical_not());
  while (tokens_.skip_name("and")) {
    BRIO_TRY(ExprPtr right, logical_not());
    BRIO_TRY(left, make(LogicExpr{LogicOp::kAnd, std::move(left), std::move(right)}));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::logical_not() {
  int count = 0;
  while (tokens_.skip_name("not")) {
    if (++count > kMaxNesting) return too_deep();
  }
  BRIO_TRY(ExprPtr value, comparison());
  for (; count > 0; --count) {
    BRIO_TRY(value, make(UnaryExpr{UnaryOp::kNot, std::move(value)}));
  }
  return value;
}

Result<ExprPtr> ExpressionParser::comparison() {
  BRIO_TRY(ExprPtr first, sum());
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
  while (true) {
    CompareOp op = CompareOp::kIn;
    if (const CompareOp* symbol = take_operator(tokens_, kCompareOps)) {
      op = *symbol;
    } else if (tokens_.at_name("not") && tokens_.ahead().kind == TokenKind::kName && tokens_.ahead().text == "in") {
      tokens_.skip();
      tokens_.skip();
      op = CompareOp::kNotIn;
    } else if (!tokens_.skip_name("in")) {
      break;
    }
    BRIO_TRY(ExprPtr operand, sum());
    rest.emplace_back(op, std::move(operand));
  }
  if (rest.empty()) return first;
  return make(CompareExpr{std::move(first), std::move(rest)});
}

Result<ExprPtr> ExpressionParser::sum() {
  BRIO_TRY(ExprPtr left, concatenation());
  while (const BinaryOp* op = take_operator(tokens_, kSumOps)) {
    BRIO_TRY(ExprPtr right, concatenation());
    BRIO_TRY(left, make(BinaryExpr{*op, std::move(left), std::move(right)}));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::concatenation() {
  std::vector<ExprPtr> parts;
  do {
    BRIO_TRY(ExprPtr part, product());
    parts.push_back(std::move(part));
  } while (tokens_.skip_operator("~"));
  if (parts.size() == 1) return std::move(parts.front());
  return make(ConcatExpr{std::move(parts)});
}

Result<ExprPtr> ExpressionParser::product() {
  BRIO_TRY(ExprPtr left, power());
  while (const BinaryOp* op = take_operator(tokens_, kProductOps)) {
    BRIO_TRY(ExprPtr right, power());
    BRIO_TRY(left, make(BinaryExpr{*op, std::move(left), std::move(right)}));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::power() {
  BRIO_TRY(ExprPtr left, unary(Filters::kAllowed));
  while (tokens_.skip_operator("**")) {
    BRIO_TRY(ExprPtr right, unary(Filters::kAllowed));
    BRIO_TRY(left, make(BinaryExpr{BinaryOp::kPower, std::move(left), std::move(right)}));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::unary(Filters filters) {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return too_deep();
  ExprPtr value;
  if (tokens_.at_operator("-") || tokens_.at_operator("+")) {
    const UnaryOp op = tokens_.at_operator("-") ? UnaryOp::kMinus : UnaryOp::kPlus;
    tokens_.skip();
    BRIO_TRY(ExprPtr operand, unary(Filters::kNot));
    BRIO_TRY(value, make(UnaryExpr{op, std::move(operand)}));
  } else {
    BRIO_TRY(value, primary());
  }
  BRIO_TRY(value, postfix(std::move(value)));
  if (filters == Filters::kAllowed) {
    BRIO_TRY(value, filters_and_tests(std::move(value)));
  }
  return value;
}

Result<ExprPtr> ExpressionParser::primary() {
  const Token& token = tokens_.current();
  switch (token.kind) {
    case TokenKind::kName:
      return name_or_constant();
    case TokenKind::kInteger: {
      const int64_t number = token.integer;
      tokens_.skip();
      return make(LiteralExpr{Value::integer(number)});
    }
    case TokenKind::kFloat: {
      const double number = token.real;
      tokens_.skip();
      return make(LiteralExpr{Value::real(number)});
    }
    case TokenKind::kString: {
      std::string text;  // neighbours join, as in Python
      for (; tokens_.at(TokenKind::kString); tokens_.skip()) text += tokens_.current().text;
      return make(LiteralExpr{Value::literal(text)});
    }
    default:
      break;
  }
  if (tokens_.at_operator("(")) return parenthesised();
  if (tokens_.at_operator("[")) return list();
  if (tokens_.at_operator("{")) return dict();
  return tokens_.unexpected("an expression");
}

Result<ExprPtr> ExpressionParser::name_or_constant() {
  BRIO_TRY(std::string name, tokens_.take_name("a name"));
  if (name == "true" || name == "True") return make(LiteralExpr{Value::boolean(true)});
  if (name == "false" || name == "False") return make(LiteralExpr{Value::boolean(false)});
  if (name == "none" || name == "None") return make(LiteralExpr{Value::none()});
  note_name(name);
  return make(NameExpr{std::move(name)});
}

void ExpressionParser::note_name(std::string_view name) {
  for (MacroNames& macro : open_macros_) {
    if (name == "caller") macro.caller = true;
    if (name == "varargs") macro.varargs = true;
    if (name == "kwargs") macro.kwargs = true;
  }
}

Result<ExprPtr> ExpressionParser::parenthesised() {
  tokens_.skip();
  if (tokens_.skip_operator(")")) return make(ListExpr{ListForm::kTuple, {}});
  BRIO_TRY(ExprPtr value, tuple());
  BRIO_TRY_OK(tokens_.expect_operator(")"));
  return value;
}

Result<ExprPtr> ExpressionParser::list() {
  tokens_.skip();
  std::vector<ExprPtr> items;
  while (!tokens_.at_operator("]")) {
    BRIO_TRY(ExprPtr item, expression());
    items.push_back(std::move(item));
    if (!tokens_.skip_operator(",")) break;
  }
  BRIO_TRY_OK(tokens_.expect_operator("]"));
  return make(ListExpr{ListForm::kList, std::move(items)});
}

Result<ExprPtr> ExpressionParser::dict() {
  tokens_.skip();
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
  while (!tokens_.at_operator("}")) {
    BRIO_TRY(ExprPtr key, expression());
    BRIO_TRY_OK(tokens_.expect_operator(":"));
    BRIO_TRY(ExprPtr value, expression());
    entries.emplace_back(std::move(key), std::move(value));
    if (!tokens_.skip_operator(",")) break;
  }
  BRIO_TRY_OK(tokens_.expect_operator("}"));
  return make(DictExpr{std::move(entries)});
}

}  // namespace brio::chat
