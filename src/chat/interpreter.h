// Interpreter: one rendering of a template. Walks the syntax tree, owns the budget and everything the template makes.
//
// Scopes follow jinja2: if blocks have none of their own; every pass of a loop, macro call, with, block set, filter and
// generation block has one, so assignments there end with it; namespace() objects outlive them.
// One thread, used once. Definitions: evaluate.cc (expressions), execute.cc (statements), macro.cc, loop.cc,
// interpreter.cc.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/syntax.h"
#include "chat/text_builder.h"
#include "chat/value.h"

namespace brio::chat {

struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> variables;
  bool kept = false;

  const Value* find(std::string_view name) const;  // here or in an outer scope
  void set(const std::string& name, Value value);  // here
};
using ScopePtr = std::shared_ptr<Scope>;

// namespace(): the one thing a template can change.
class Namespace final : public Object {
 public:
  std::string type_name() const override { return "Namespace"; }
  std::optional<Value> attribute(std::string_view name) override;
  Dict attributes;
};

class Interpreter {
 public:
  Interpreter(std::string_view template_name, std::chrono::system_clock::time_point now, const RenderLimits& limits);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // context: what names refer to when no scope has them.
  Result<Text> render(const Block& block, Dict context);

  Budget& budget() { return budget_; }
  std::chrono::system_clock::time_point now() const { return now_; }

  Result<Value> call(const Value& callee, const Arguments& arguments);
  Result<Value> apply_filter(std::string_view name, const Value& input, const Arguments& arguments);
  Result<bool> apply_test(std::string_view name, const Value& input, const Arguments& arguments);
  Result<Value> make_namespace(Dict attributes);
  // An error whose message no line is put in front of; the hint says where it was raised.
  Error raise(std::string message);

  // Of the macro and loop objects: their bodies as text.
  Result<Value> run_macro(const MacroDefinition& macro, const ScopePtr& outer, const Arguments& arguments);
  Result<Value> rerun_loop(const ForStatement& loop, const ScopePtr& outer, const Value& iterable, int depth0);

 private:
  enum class Flow { kNext, kBreak, kContinue };

  // Another value in one of our variables for as long as it lives: the scope, where output goes.
  template <typename T>
  class Change {
   public:
    Change(T& variable, T value) : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() { variable_ = std::move(before_); }

   private:
    T& variable_;
    T before_;
  };

  Result<Value> evaluate(const Expr& expr);
  Result<Value> eval(const LiteralExpr& expr);
  Result<Value> eval(const NameExpr& expr);
  Result<Value> eval(const ListExpr& expr);
  Result<Value> eval(const DictExpr& expr);
  Result<Value> eval(const UnaryExpr& expr);
  Result<Value> eval(const BinaryExpr& expr);
  Result<Value> eval(const LogicExpr& expr);
  Result<Value> eval(const ConcatExpr& expr);
  Result<Value> eval(const CompareExpr& expr);
  Result<Value> eval(const ConditionalExpr& expr);
  Result<Value> eval(const AttributeExpr& expr);
  Result<Value> eval(const ItemExpr& expr);
  Result<Value> eval(const SliceExpr& expr);
  Result<Value> eval(const CallExpr& expr);
  Result<Value> eval(const FilterExpr& expr);
  Result<Value> eval(const TestExpr& expr);
  Result<Arguments> arguments(const CallArguments& arguments);
  Result<Value> none_if_absent(const ExprPtr& expr);

  Result<Flow> execute(const Block& block);
  Result<Flow> exec(const TextStatement& node);
  Result<Flow> exec(const OutputStatement& node);
  Result<Flow> exec(const IfStatement& node);
  Result<Flow> exec(const ForStatement& node);
  Result<Flow> exec(const SetStatement& node);
  Result<Flow> exec(const SetBlockStatement& node);
  Result<Flow> exec(const WithStatement& node);
  Result<Flow> exec(const FilterStatement& node);
  Result<Flow> exec(const GenerationStatement& node);
  Result<Flow> exec(const MacroStatement& node);
  Result<Flow> exec(const CallStatement& node);
  Result<Flow> exec(const BreakStatement& node);
  Result<Flow> exec(const ContinueStatement& node);

  Result<Flow> loop(const ForStatement& node, const Value& iterable, int depth0);
  Result<Value> filtered(const ForStatement& node, const Value& items);
  Result<void> bind_parameters(const MacroDefinition& macro, const Arguments& arguments);
  Result<void> assign(const Target& target, const Value& value);
  Result<Value> captured(const Block& block);                              // output of a block in a scope of its own
  Result<Value> through_filter(const ExprPtr& filter, const Value& text);  // the text of a block through its filters
  Result<void> keep_scope();
  Error located(Error error, int line);

  Budget budget_;  // first: every value gives its memory back before it goes
  std::string_view template_name_;
  std::chrono::system_clock::time_point now_;
  bool error_located_ = false;  // the error on its way out names its line already
  bool error_raised_ = false;   // it is the template's own
  Dict context_;
  ScopePtr scope_;
  TextBuilder* out_ = nullptr;
  const Value* block_text_ = nullptr;  // input of the filter chain being applied to a block
  // Macros refer to scopes that may hold them, namespaces to anything: cycles. Kept here, emptied at the end.
  std::vector<ScopePtr> kept_scopes_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  MemoryCharge kept_charge_;
};

}  // namespace brio::chat
