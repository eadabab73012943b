// Macro: {% macro %} and the body of {% call %} as a value: a definition and the scope that it sees.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "chat/interpreter.h"

namespace brio::chat {

class Macro final : public Object {
 public:
  Macro(std::shared_ptr<const MacroDefinition> definition, ScopePtr outer)
      : definition_(std::move(definition)), outer_(std::move(outer)) {}
  std::string type_name() const override { return "Macro " + definition_->name; }
  bool callable() const override { return true; }
  Result<Value> call(Interpreter& in, const Arguments& arguments) override {
    return in.run_macro(*definition_, outer_, arguments);
  }
  std::optional<Value> attribute(std::string_view name) override {
    return name == "name" ? std::optional(Value::literal(definition_->name)) : std::nullopt;
  }

 private:
  std::shared_ptr<const MacroDefinition> definition_;
  ScopePtr outer_;  // kept by the interpreter, which also breaks the cycle at the end
};

}  // namespace brio::chat
