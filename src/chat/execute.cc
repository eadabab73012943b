// Statements.
#include "chat/convert.h"
#include "chat/interpreter.h"
#include "chat/macro.h"

namespace brio::chat {

Result<Interpreter::Flow> Interpreter::execute(const Block& block) {
  BRIO_CHAT_ENTER(budget_);
  for (const Statement& statement : block) {
    BRIO_TRY_OK(budget_.spend(1));
    Result<Flow> flow = std::visit([this](const auto& node) { return exec(node); }, statement.node);
    if (!flow.ok()) return located(std::move(flow).error(), statement.line);
    if (*flow != Flow::kNext) return *flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::exec(const TextStatement& node) {
  out_->append(node.text.text());
  if (out_->full()) BRIO_TRY_OK(out_->finish());
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::exec(const OutputStatement& node) {
  BRIO_TRY(const Value value, evaluate(*node.value));
  BRIO_TRY_OK(print(*out_, value, budget_));
  if (value.is_string()) BRIO_TRY_OK(budget_.spend_bytes(value.text().size()));
  if (out_->full()) BRIO_TRY_OK(out_->finish());
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::exec(const IfStatement& node) {
  for (const auto& [condition, block] : node.branches) {
    if (condition) {
      BRIO_TRY(const Value verdict, evaluate(*condition));
      if (!truthy(verdict)) continue;
    }
    return execute(block);
  }
  return Flow::kNext;
}

Result<void> Interpreter::assign(const Target& target, const Value& value) {
  if (!target.items.empty()) {
    BRIO_TRY(const Value list, as_list(budget_, value));
    if (list.items().size() != target.items.size()) {
      return render_error("{} values for {} variables", list.items().size(), target.items.size());
    }
    for (size_t i = 0; i < target.items.size(); ++i) BRIO_TRY_OK(assign(target.items[i], list.items()[i]));
    return {};
  }
  if (target.attribute.empty()) {
    scope_->set(target.name, value);
    return {};
  }
  const Value* found = scope_->find(target.name);
  auto* space = found != nullptr && found->is(Kind::kObject) ? dynamic_cast<Namespace*>(&found->object()) : nullptr;
  if (space == nullptr) return render_error("'{}' is not a namespace", shown(target.name));
  return space->attributes.set(Value::literal(target.attribute), value);
}

Result<Interpreter::Flow> Interpreter::exec(const SetStatement& node) {
  BRIO_TRY(const Value value, evaluate(*node.value));
  BRIO_TRY_OK(assign(node.target, value));
  return Flow::kNext;
}

Result<Value> Interpreter::captured(const Block& block) {
  TextBuilder out(budget_);
  auto scope = std::make_shared<Scope>();
  scope->parent = scope_;
  const Change<ScopePtr> in_scope(scope_, std::move(scope));
  const Change<TextBuilder*> to_text(out_, &out);
  BRIO_TRY_OK(execute(block));
  return out.finish_value();
}

Result<Value> Interpreter::through_filter(const ExprPtr& filter, const Value& text) {
  if (!filter) return text;
  const Change<const Value*> input(block_text_, &text);
  return evaluate(*filter);
}

Result<Interpreter::Flow> Interpreter::exec(const SetBlockStatement& node) {
  BRIO_TRY(const Value text, captured(node.body));
  BRIO_TRY(const Value value, through_filter(node.filter, text));
  BRIO_TRY_OK(assign(node.target, value));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::exec(const WithStatement& node) {
  auto scope = std::make_shared<Scope>();
  scope->parent = scope_;
  std::vector<Value> values;
  for (const auto& variable : node.variables) {
    BRIO_TRY(Value value, evaluate(*variable.second));
    values.push_back(std::move(value));
  }
  const Change<ScopePtr> in_scope(scope_, std::move(scope));
  for (size_t i = 0; i < values.size(); ++i) BRIO_TRY_OK(assign(node.variables[i].first, values[i]));
  return execute(node.body);
}

Result<Interpreter::Flow> Interpreter::exec(const FilterStatement& node) {
  BRIO_TRY(const Value text, captured(node.body));
  BRIO_TRY(const Value value, through_filter(node.filter, text));
  BRIO_TRY_OK(print(*out_, value, budget_));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::exec(const GenerationStatement& node) {
  auto scope = std::make_shared<Scope>();
  scope->parent = scope_;
  const Change<ScopePtr> in_scope(scope_, std::move(scope));
  return execute(node.body);
}

Result<Interpreter::Flow> Interpreter::exec(const MacroStatement& node) {
  BRIO_TRY_OK(keep_scope());
  scope_->set(node.macro->name, Value::object(std::make_shared<Macro>(node.macro, scope_)));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::exec(const CallStatement& node) {
  const auto& expr = std::get<CallExpr>(node.call->node);
  BRIO_TRY(const Value callee, evaluate(*expr.callee));
  BRIO_TRY(Arguments given, arguments(expr.arguments));
  BRIO_TRY_OK(keep_scope());
  given.named.emplace_back("caller", Value::object(std::make_shared<Macro>(node.caller, scope_)));
  BRIO_TRY(const Value text, call(callee, given));
  BRIO_TRY_OK(print(*out_, text, budget_));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::exec(const BreakStatement&) {
  return Flow::kBreak;
}
Result<Interpreter::Flow> Interpreter::exec(const ContinueStatement&) {
  return Flow::kContinue;
}

}  // namespace brio::chat
