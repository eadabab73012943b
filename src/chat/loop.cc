#include "chat/loop.h"

#include "chat/convert.h"
#include "chat/native.h"
#include "chat/operators.h"

namespace brio::chat {
namespace {

Loop& loop_of(const Value& self) {
  return static_cast<Loop&>(self.object());
}

Result<Value> cycle(Interpreter&, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) return render_error("loop.cycle() needs items");
  return arguments.positional[loop_of(self).index() % arguments.positional.size()];
}

Result<Value> changed(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const bool differs, loop_of(self).changed(in, arguments));
  return Value::boolean(differs);
}

constexpr NativeEntry kCycle = {"cycle", cycle};
constexpr NativeEntry kChanged = {"changed", changed};

}  // namespace

Result<Value> Loop::call(Interpreter& in, const Arguments& arguments) {
  if (outer_ == nullptr) return render_error("only a loop marked 'recursive' can be called");
  if (arguments.positional.size() != 1) return render_error("loop() takes the items to loop over");
  return in.rerun_loop(statement_, outer_, arguments.positional[0], depth0_ + 1);
}

std::optional<Value> Loop::attribute(std::string_view name) {
  const std::vector<Value>& items = list_.items();
  const auto number = [](size_t n) { return Value::integer(static_cast<int64_t>(n)); };
  if (name == "index") return number(index_ + 1);
  if (name == "index0") return number(index_);
  if (name == "first") return Value::boolean(index_ == 0);
  if (name == "last") return Value::boolean(index_ + 1 == items.size());
  if (name == "length") return number(items.size());
  if (name == "revindex") return number(items.size() - index_);
  if (name == "revindex0") return number(items.size() - index_ - 1);
  if (name == "depth") return Value::integer(depth0_ + 1);
  if (name == "depth0") return Value::integer(depth0_);
  if (name == "previtem") return index_ > 0 ? items[index_ - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem") {
    return index_ + 1 < items.size() ? items[index_ + 1] : Value::undefined("there is no next item");
  }
  if (name == "cycle" || name == "changed") {
    const Value self = Value::object(shared_from_this());
    return NativeFunction::bind(name == "cycle" ? kCycle : kChanged, self);
  }
  return std::nullopt;
}

Result<bool> Loop::changed(Interpreter& in, const Arguments& arguments) {
  BRIO_TRY(Value now, Value::list(in.budget(), arguments.positional, ListForm::kTuple));
  bool same = false;
  if (last_changed_) {
    BRIO_TRY(same, equal(in.budget(), *last_changed_, now));
  }
  if (!ended_) last_changed_ = std::move(now);
  return !same;
}

// The items that pass the loop's own condition, which sees the loop's variables but not `loop`.
Result<Value> Interpreter::filtered(const ForStatement& node, const Value& list) {
  std::vector<Value> kept;
  for (const Value& item : list.items()) {
    auto scope = std::make_shared<Scope>();
    scope->parent = scope_;
    const Change<ScopePtr> in_scope(scope_, std::move(scope));
    BRIO_TRY_OK(assign(node.target, item));
    BRIO_TRY(const Value verdict, evaluate(*node.filter));
    if (truthy(verdict)) kept.push_back(item);
  }
  return Value::list(budget_, std::move(kept));
}

Result<Interpreter::Flow> Interpreter::loop(const ForStatement& node, const Value& iterable, int depth0) {
  BRIO_TRY(Value list, as_list(budget_, iterable));
  if (node.filter) {
    BRIO_TRY(list, filtered(node, list));
  }
  if (node.recursive) BRIO_TRY_OK(keep_scope());
  const auto state = std::make_shared<Loop>(node, node.recursive ? scope_ : nullptr, list, depth0);
  const std::unique_ptr<Loop, void (*)(Loop*)> at_end(state.get(), [](Loop* ended) { ended->end(); });
  const ScopePtr outer = scope_;
  bool completed = false;  // jinja2 takes the else branch unless some pass reaches the end of the body
  for (size_t i = 0; i < list.items().size(); ++i) {
    BRIO_TRY_OK(budget_.spend(1));
    state->set_index(i);
    auto scope = std::make_shared<Scope>();
    scope->parent = outer;
    scope->set("loop", Value::object(state));
    const Change<ScopePtr> in_scope(scope_, std::move(scope));
    BRIO_TRY_OK(assign(node.target, list.items()[i]));
    BRIO_TRY(const Flow flow, execute(node.body));
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kNext) completed = true;
  }
  if (completed || node.otherwise.empty()) return Flow::kNext;
  auto scope = std::make_shared<Scope>();
  scope->parent = outer;
  const Change<ScopePtr> in_scope(scope_, std::move(scope));
  return execute(node.otherwise);
}

Result<Interpreter::Flow> Interpreter::exec(const ForStatement& node) {
  BRIO_TRY(const Value iterable, evaluate(*node.iterable));
  return loop(node, iterable, 0);
}

Result<Value> Interpreter::rerun_loop(const ForStatement& node, const ScopePtr& outer, const Value& iterable,
                                      int depth0) {
  BRIO_CHAT_ENTER(budget_);
  TextBuilder out(budget_);
  const Change<ScopePtr> in_scope(scope_, outer);
  const Change<TextBuilder*> to_text(out_, &out);
  BRIO_TRY_OK(loop(node, iterable, depth0));
  return out.finish_value();
}

}  // namespace brio::chat
