#include "chat/macro.h"

#include <algorithm>

#include "chat/convert.h"

namespace brio::chat {
namespace {

bool has_parameter(const MacroDefinition& macro, std::string_view name) {
  return std::ranges::any_of(macro.parameters, [&](const auto& parameter) { return parameter.first == name; });
}

// The named argument, removed from the list.
std::optional<Value> take_named(std::vector<std::pair<std::string, Value>>& named, std::string_view name) {
  const auto found = std::ranges::find(named, name, &std::pair<std::string, Value>::first);
  if (found == named.end()) return std::nullopt;
  Value value = std::move(found->second);
  named.erase(found);
  return value;
}

}  // namespace

Result<void> Interpreter::bind_parameters(const MacroDefinition& macro, const Arguments& given) {
  std::vector<std::pair<std::string, Value>> named = given.named;
  const size_t count = macro.parameters.size();
  std::vector<std::optional<Value>> values(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = macro.parameters[i].first;
    values[i] = i < given.positional.size() ? given.positional[i] : take_named(named, name);
  }
  if (macro.uses_caller && !has_parameter(macro, "caller")) {
    std::optional<Value> caller = take_named(named, "caller");
    scope_->set("caller", caller ? std::move(*caller) : Value::undefined("no caller was given"));
  }
  if (macro.uses_kwargs && !has_parameter(macro, "kwargs")) {
    Dict dict;
    for (auto& [name, value] : named) {
      BRIO_TRY(Value key, Value::string(budget_, name, false));
      BRIO_TRY_OK(dict.set(std::move(key), std::move(value)));
    }
    BRIO_TRY(Value kwargs, Value::dict(budget_, std::move(dict)));
    scope_->set("kwargs", std::move(kwargs));
  } else if (!named.empty()) {
    return render_error("macro '{}' has no parameter '{}'", shown(macro.name), shown(named.front().first));
  }
  if (macro.uses_varargs && !has_parameter(macro, "varargs")) {
    const size_t used = std::min(count, given.positional.size());
    std::vector<Value> rest(given.positional.begin() + static_cast<std::ptrdiff_t>(used), given.positional.end());
    BRIO_TRY(Value varargs, Value::list(budget_, std::move(rest), ListForm::kTuple));
    scope_->set("varargs", std::move(varargs));
  } else if (given.positional.size() > count) {
    return render_error("macro '{}' takes {} arguments, not {}", shown(macro.name), count, given.positional.size());
  }
  for (size_t i = 0; i < count; ++i) {  // defaults may refer to the parameters before them
    const auto& [name, otherwise] = macro.parameters[i];
    if (!values[i] && otherwise) {
      BRIO_TRY(values[i], evaluate(*otherwise));
    }
    scope_->set(name,
                values[i] ? *values[i] : Value::undefined(fmt::format("parameter '{}' was not given", shown(name))));
  }
  return {};
}

Result<Value> Interpreter::run_macro(const MacroDefinition& macro, const ScopePtr& outer, const Arguments& given) {
  BRIO_CHAT_ENTER(budget_);
  auto scope = std::make_shared<Scope>();
  scope->parent = outer;
  const Change<ScopePtr> in_scope(scope_, std::move(scope));
  BRIO_TRY_OK(bind_parameters(macro, given));
  TextBuilder out(budget_);
  const Change<TextBuilder*> to_text(out_, &out);
  BRIO_TRY_OK(execute(macro.body));
  return out.finish_value();
}

}  // namespace brio::chat
