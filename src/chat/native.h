// Functions built into the language: filters, tests, methods, globals. All have one shape, so that map() can call any
// filter and a method is a value like any other.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "chat/interpreter.h"

namespace brio::chat {

// self: the filtered or tested value, the object of a method, undefined for a global function.
using Native = Result<Value> (*)(Interpreter& in, const Value& self, const Arguments& arguments);
struct NativeEntry {
  std::string_view name;
  Native function;
};

// A native function as a value, with its object if it is a method.
class NativeFunction final : public Object {
 public:
  NativeFunction(std::string_view name, Native function, Value self)
      : name_(name), function_(function), self_(std::move(self)) {}
  std::string type_name() const override { return "function " + name_; }
  bool callable() const override { return true; }
  Result<Value> call(Interpreter& in, const Arguments& arguments) override { return function_(in, self_, arguments); }
  int depth() const override { return self_.depth() + 1; }
  static Value bind(const NativeEntry& entry, Value self) {
    return Value::object(std::make_shared<NativeFunction>(entry.name, entry.function, std::move(self)));
  }

 private:
  std::string name_;
  Native function_;
  Value self_;
};

const NativeEntry* find_filter(std::string_view name);
const NativeEntry* find_test(std::string_view name);
const NativeEntry* find_global(std::string_view name);
const NativeEntry* find_string_method(std::string_view name);
const NativeEntry* find_list_method(std::string_view name);
const NativeEntry* find_dict_method(std::string_view name);
// Python's methods that write: jinja2's sandbox takes them for undefined, even when a dictionary has such a key.
bool changes_its_object(const Value& object, std::string_view method);

// Arguments by the names of a function's parameters; a null pointer was not given.
class Bound {
 public:
  static constexpr size_t kMost = 6;
  // Error: too many, unknown names, or one of the first `required` is missing.
  static Result<Bound> bind(const Arguments& arguments, std::initializer_list<std::string_view> parameters,
                            size_t required = 0);
  const Value* operator[](size_t i) const { return values_[i]; }

  // With a default for what was not given. Errors name the parameter.
  Result<int64_t> integer(size_t i, int64_t otherwise) const;
  Result<const Text*> text(size_t i, const Text* otherwise = nullptr) const;
  bool flag(size_t i, bool otherwise) const;

 private:
  std::array<const Value*, kMost> values_{};
  std::array<std::string_view, kMost> names_{};
};

}  // namespace brio::chat
