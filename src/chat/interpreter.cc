#include "chat/interpreter.h"

#include "chat/convert.h"
#include "chat/native.h"

namespace brio::chat {

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [known, value] : scope->variables) {
      if (known == name) return &value;
    }
  }
  return nullptr;
}

void Scope::set(const std::string& name, Value value) {
  for (auto& [known, old] : variables) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

std::optional<Value> Namespace::attribute(std::string_view name) {
  const Value* value = attributes.find(name);
  return value == nullptr ? std::nullopt : std::optional<Value>(*value);
}

Interpreter::Interpreter(std::string_view template_name, std::chrono::system_clock::time_point now,
                         const RenderLimits& limits)
    : budget_(limits), template_name_(template_name), now_(now) {}

Interpreter::~Interpreter() {
  for (const auto& space : namespaces_) {
    const Dict emptied = std::move(space->attributes);
  }
  for (const ScopePtr& scope : kept_scopes_) {
    const auto emptied = std::move(scope->variables);
  }
}

Result<Text> Interpreter::render(const Block& block, Dict context) {
  context_ = std::move(context);
  scope_ = std::make_shared<Scope>();
  TextBuilder out(budget_, budget_.limits().max_output_bytes);
  out_ = &out;
  BRIO_TRY_OK(execute(block));
  return out.finish();
}

Result<Value> Interpreter::call(const Value& callee, const Arguments& arguments) {
  BRIO_CHAT_ENTER(budget_);
  BRIO_TRY_OK(budget_.spend(1));
  if (callee.is_undefined()) return undefined_error(callee);
  if (!callee.is(Kind::kObject)) return render_error("a {} is not a function", callee.type_name());
  // The call may overwrite the variable that holds it. NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const Value alive = callee;
  return alive.object().call(*this, arguments);
}

Result<Value> Interpreter::apply_filter(std::string_view name, const Value& input, const Arguments& arguments) {
  BRIO_CHAT_ENTER(budget_);
  BRIO_TRY_OK(budget_.spend(1));
  const NativeEntry* filter = find_filter(name);
  if (filter == nullptr) return render_error("there is no filter '{}'", shown(name));
  return filter->function(*this, input, arguments);
}

Result<bool> Interpreter::apply_test(std::string_view name, const Value& input, const Arguments& arguments) {
  BRIO_CHAT_ENTER(budget_);
  BRIO_TRY_OK(budget_.spend(1));
  const NativeEntry* test = find_test(name);
  if (test == nullptr) return render_error("there is no test '{}'", shown(name));
  BRIO_TRY(const Value verdict, test->function(*this, input, arguments));
  return truthy(verdict);
}

Result<Value> Interpreter::make_namespace(Dict attributes) {
  constexpr size_t kBytes = 256;          // object, reference counts, place in the list
  constexpr size_t kBytesPerEntry = 200;  // two values, index node, key
  if (!kept_charge_.grow(budget_, kBytes + attributes.size() * kBytesPerEntry)) return budget_.out_of_memory();
  auto space = std::make_shared<Namespace>();
  space->attributes = std::move(attributes);
  namespaces_.push_back(space);
  return Value::object(std::move(space));
}

Error Interpreter::raise(std::string message) {
  error_raised_ = true;
  return Error{ErrorCode::kInvalidArgument, std::move(message), {}};
}

Error Interpreter::located(Error error, int line) {
  if (std::exchange(error_located_, true)) return error;
  if (error_raised_) {
    error.hint = fmt::format("raised by the {}, line {}", template_name_, line);
  } else {
    error.message = fmt::format("{}, line {}: {}", template_name_, line, error.message);
  }
  return error;
}

Result<void> Interpreter::keep_scope() {
  for (ScopePtr scope = scope_; scope != nullptr && !scope->kept; scope = scope->parent) {
    if (!kept_charge_.grow(budget_, sizeof(Scope) + 64)) return budget_.out_of_memory();
    scope->kept = true;
    kept_scopes_.push_back(scope);
  }
  return {};
}

}  // namespace brio::chat
