// Expressions.
#include "chat/convert.h"
#include "chat/interpreter.h"
#include "chat/lookup.h"
#include "chat/native.h"
#include "chat/operators.h"

namespace brio::chat {

Result<Value> Interpreter::evaluate(const Expr& expr) {
  BRIO_CHAT_ENTER(budget_);
  BRIO_TRY_OK(budget_.spend(1));
  return std::visit([this](const auto& node) { return eval(node); }, expr.node);
}

Result<Value> Interpreter::eval(const LiteralExpr& expr) {
  return expr.value;
}

Result<Value> Interpreter::eval(const NameExpr& expr) {
  if (const Value* value = scope_->find(expr.name)) return *value;
  if (const Value* value = context_.find(expr.name)) return *value;
  if (const NativeEntry* global = find_global(expr.name)) return NativeFunction::bind(*global, Value::none());
  return Value::undefined(fmt::format("'{}' is undefined", shown(expr.name)));
}

Result<Value> Interpreter::eval(const ListExpr& expr) {
  std::vector<Value> items;
  items.reserve(expr.items.size());
  for (const ExprPtr& item : expr.items) {
    BRIO_TRY(Value value, evaluate(*item));
    items.push_back(std::move(value));
  }
  return Value::list(budget_, std::move(items), expr.form);
}

Result<Value> Interpreter::eval(const DictExpr& expr) {
  Dict dict;
  for (const auto& [key_expr, value_expr] : expr.entries) {
    BRIO_TRY(Value key, evaluate(*key_expr));
    BRIO_TRY(Value value, evaluate(*value_expr));
    BRIO_TRY_OK(dict.set(std::move(key), std::move(value)));
  }
  return Value::dict(budget_, std::move(dict));
}

Result<Value> Interpreter::eval(const UnaryExpr& expr) {
  BRIO_TRY(const Value operand, evaluate(*expr.operand));
  return unary(expr.op, operand);
}

Result<Value> Interpreter::eval(const BinaryExpr& expr) {
  BRIO_TRY(const Value left, evaluate(*expr.left));
  BRIO_TRY(const Value right, evaluate(*expr.right));
  return binary(budget_, expr.op, left, right);
}

Result<Value> Interpreter::eval(const LogicExpr& expr) {
  BRIO_TRY(Value left, evaluate(*expr.left));
  if (truthy(left) == (expr.op == LogicOp::kOr)) return left;
  return evaluate(*expr.right);
}

Result<Value> Interpreter::eval(const ConcatExpr& expr) {
  TextBuilder out(budget_);
  for (const ExprPtr& part : expr.parts) {
    BRIO_TRY(const Value value, evaluate(*part));
    BRIO_TRY_OK(print(out, value, budget_));
  }
  return out.finish_value();
}

Result<Value> Interpreter::eval(const CompareExpr& expr) {
  BRIO_TRY(Value left, evaluate(*expr.first));
  for (const auto& [op, operand] : expr.rest) {
    BRIO_TRY(Value right, evaluate(*operand));
    BRIO_TRY(const bool holds, compare(budget_, op, left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::eval(const ConditionalExpr& expr) {
  BRIO_TRY(const Value test, evaluate(*expr.test));
  if (truthy(test)) return evaluate(*expr.then);
  if (expr.otherwise) return evaluate(*expr.otherwise);
  return Value::undefined("the condition of an 'if' without 'else' is false");
}

Result<Value> Interpreter::eval(const AttributeExpr& expr) {
  BRIO_TRY(const Value object, evaluate(*expr.object));
  return attribute_of(*this, object, expr.name);
}

Result<Value> Interpreter::eval(const ItemExpr& expr) {
  BRIO_TRY(const Value object, evaluate(*expr.object));
  BRIO_TRY(const Value index, evaluate(*expr.index));
  return item_of(*this, object, index);
}

Result<Value> Interpreter::none_if_absent(const ExprPtr& expr) {
  if (!expr) return Value::none();
  return evaluate(*expr);
}

Result<Value> Interpreter::eval(const SliceExpr& expr) {
  BRIO_TRY(const Value object, evaluate(*expr.object));
  BRIO_TRY(const Value start, none_if_absent(expr.start));
  BRIO_TRY(const Value stop, none_if_absent(expr.stop));
  BRIO_TRY(const Value step, none_if_absent(expr.step));
  return slice_of(*this, object, start, stop, step);
}

Result<Arguments> Interpreter::arguments(const CallArguments& given) {
  Arguments result;
  for (const ExprPtr& argument : given.positional) {
    BRIO_TRY(Value value, evaluate(*argument));
    result.positional.push_back(std::move(value));
  }
  if (given.star) {
    BRIO_TRY(const Value value, evaluate(*given.star));
    BRIO_TRY(const Value list, as_list(budget_, value));
    result.positional.insert(result.positional.end(), list.items().begin(), list.items().end());
  }
  for (const auto& [name, argument] : given.named) {
    BRIO_TRY(Value value, evaluate(*argument));
    result.named.emplace_back(name, std::move(value));
  }
  if (given.double_star) {
    BRIO_TRY(const Value value, evaluate(*given.double_star));
    if (!value.is_dict()) return render_error("'**' needs a dictionary, not a {}", value.type_name());
    for (const auto& [key, entry] : value.dict().entries()) {
      if (!key.is_string()) return render_error("the keys of a '**' argument must be strings");
      result.named.emplace_back(key.bytes(), entry);
    }
  }
  return result;
}

Result<Value> Interpreter::eval(const CallExpr& expr) {
  BRIO_TRY(const Value callee, evaluate(*expr.callee));
  BRIO_TRY(const Arguments given, arguments(expr.arguments));
  return call(callee, given);
}

Result<Value> Interpreter::eval(const FilterExpr& expr) {
  const Value* text = block_text_;
  BRIO_TRY(const Value input, expr.input ? evaluate(*expr.input) : Result<Value>(*text));
  BRIO_TRY(const Arguments given, arguments(expr.arguments));
  return apply_filter(expr.name, input, given);
}

Result<Value> Interpreter::eval(const TestExpr& expr) {
  BRIO_TRY(const Value input, evaluate(*expr.input));
  BRIO_TRY(const Arguments given, arguments(expr.arguments));
  BRIO_TRY(const bool holds, apply_test(expr.name, input, given));
  return Value::boolean(holds);
}

}  // namespace brio::chat
