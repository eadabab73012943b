// The tests of `x is ...`.
#include <algorithm>

#include "chat/convert.h"
#include "chat/native.h"
#include "chat/operators.h"
#include "chat/text_functions.h"

namespace brio::chat {
namespace {

// Tests without arguments that only look at the value.
template <bool (*holds)(const Value&)>
Result<Value> looks(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  return Value::boolean(holds(self));
}

bool is_defined(const Value& v) {
  return !v.is_undefined();
}
bool is_undefined(const Value& v) {
  return v.is_undefined();
}
bool is_none(const Value& v) {
  return v.is_none();
}
bool is_boolean(const Value& v) {
  return v.is(Kind::kBool);
}
bool is_true(const Value& v) {
  return v.is(Kind::kBool) && v.boolean();
}
bool is_false(const Value& v) {
  return v.is(Kind::kBool) && !v.boolean();
}
bool is_integer(const Value& v) {
  return v.is(Kind::kInt);
}
bool is_float(const Value& v) {
  return v.is(Kind::kFloat);
}
bool is_number(const Value& v) {
  return v.is_number();
}
bool is_string(const Value& v) {
  return v.is_string();
}
bool is_mapping(const Value& v) {
  return v.is_dict();
}
bool is_sequence(const Value& v) {
  return v.is_undefined() || v.is_string() || v.is_dict() ||
         (v.is_list() && !v.is_form(ListForm::kGenerator) && !v.is_form(ListForm::kView));
}
bool is_iterable(const Value& v) {
  return v.is_undefined() || v.is_string() || v.is_list() || v.is_dict();
}
bool is_callable(const Value& v) {
  // Undefined too: Python finds its __call__, which then fails.
  return v.is_undefined() || (v.is(Kind::kObject) && v.object().callable());
}
bool is_escaped(const Value&) {
  return false;
}

template <Case wanted>
Result<Value> is_in_case(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  return Value::boolean(all_in_case(text.text(), wanted));
}

Result<int64_t> remainder(Interpreter& in, const Value& self, const Value& divisor) {
  BRIO_TRY(const Value rest, binary(in.budget(), BinaryOp::kModulo, self, divisor));
  if (rest.is_integral()) return rest.integer();
  return int64_t{rest.is_number() && rest.real() == 0 ? 0 : rest.is_number() && rest.real() == 1 ? 1 : 2};
}

Result<Value> odd(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const int64_t rest, remainder(in, self, Value::integer(2)));
  return Value::boolean(rest == 1);
}

Result<Value> even(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const int64_t rest, remainder(in, self, Value::integer(2)));
  return Value::boolean(rest == 0);
}

Result<Value> divisible_by(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"num"}, 1));
  BRIO_TRY(const int64_t rest, remainder(in, self, *bound[0]));
  return Value::boolean(rest == 0);
}

template <CompareOp op>
Result<Value> compares(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"other"}, 1));
  BRIO_TRY(const bool holds, compare(in.budget(), op, self, *bound[0]));
  return Value::boolean(holds);
}

Result<Value> same_as(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"other"}, 1));
  return Value::boolean(self.same_as(*bound[0]));
}

Result<Value> is_filter(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  return Value::boolean(self.is_string() && find_filter(self.bytes()) != nullptr);
}

Result<Value> is_test(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  return Value::boolean(self.is_string() && find_test(self.bytes()) != nullptr);
}

constexpr NativeEntry kTests[] = {
    {"!=", compares<CompareOp::kNotEqual>},
    {"<", compares<CompareOp::kLess>},
    {"<=", compares<CompareOp::kLessEqual>},
    {"==", compares<CompareOp::kEqual>},
    {">", compares<CompareOp::kGreater>},
    {">=", compares<CompareOp::kGreaterEqual>},
    {"boolean", looks<is_boolean>},
    {"callable", looks<is_callable>},
    {"defined", looks<is_defined>},
    {"divisibleby", divisible_by},
    {"eq", compares<CompareOp::kEqual>},
    {"equalto", compares<CompareOp::kEqual>},
    {"escaped", looks<is_escaped>},
    {"even", even},
    {"false", looks<is_false>},
    {"filter", is_filter},
    {"float", looks<is_float>},
    {"ge", compares<CompareOp::kGreaterEqual>},
    {"greaterthan", compares<CompareOp::kGreater>},
    {"gt", compares<CompareOp::kGreater>},
    {"in", compares<CompareOp::kIn>},
    {"integer", looks<is_integer>},
    {"iterable", looks<is_iterable>},
    {"le", compares<CompareOp::kLessEqual>},
    {"lessthan", compares<CompareOp::kLess>},
    {"lower", is_in_case<Case::kLower>},
    {"lt", compares<CompareOp::kLess>},
    {"mapping", looks<is_mapping>},
    {"ne", compares<CompareOp::kNotEqual>},
    {"none", looks<is_none>},
    {"number", looks<is_number>},
    {"odd", odd},
    {"sameas", same_as},
    {"sequence", looks<is_sequence>},
    {"string", looks<is_string>},
    {"test", is_test},
    {"true", looks<is_true>},
    {"undefined", looks<is_undefined>},
    {"upper", is_in_case<Case::kUpper>},
};

}  // namespace

const NativeEntry* find_test(std::string_view name) {
  const auto* found = std::ranges::lower_bound(kTests, name, {}, &NativeEntry::name);
  return found != std::end(kTests) && found->name == name ? found : nullptr;
}

}  // namespace brio::chat
