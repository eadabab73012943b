#include "chat/operators.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "chat/convert.h"
#include "chat/percent_format.h"
#include "chat/search.h"

namespace brio::chat {
namespace {

constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};  // in the order of BinaryOp

Error overflow() {
  return render_error("an integer does not fit 64 bits");
}
Error zero_division() {
  return render_error("division by zero");
}

bool concatenates(const Value& value) {
  return value.is_form(ListForm::kList) || value.is_form(ListForm::kTuple) || value.is_form(ListForm::kGroup);
}

Result<Value> mismatch(BinaryOp op, const Value& left, const Value& right) {
  if (left.is_undefined()) return undefined_error(left);
  if (right.is_undefined()) return undefined_error(right);
  return render_error("'{}' cannot combine a {} and a {}", kSymbols[static_cast<int>(op)], left.type_name(),
                      right.type_name());
}

Result<Value> integer_power(int64_t base, int64_t exponent, bool trusted) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Value::integer(result, trusted);
}

// Python rounds quotients down and gives remainders the sign of the divisor.
Result<Value> integer_division(BinaryOp op, int64_t left, int64_t right, bool trusted) {
  if (right == 0) return zero_division();
  if (right == -1) {  // also avoids the one overflow of division
    if (op == BinaryOp::kModulo) return Value::integer(0, trusted);
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, left, &negated)) return overflow();
    return Value::integer(negated, trusted);
  }
  int64_t quotient = left / right;
  int64_t remainder = left % right;
  if (remainder != 0 && ((remainder < 0) != (right < 0))) {
    --quotient;
    remainder += right;
  }
  return Value::integer(op == BinaryOp::kModulo ? remainder : quotient, trusted);
}

Result<Value> integer_binary(BinaryOp op, int64_t left, int64_t right, bool trusted) {
  int64_t result = 0;
  switch (op) {
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(left, right, &result)) return overflow();
      return Value::integer(result, trusted);
    case BinaryOp::kSubtract:
      if (__builtin_sub_overflow(left, right, &result)) return overflow();
      return Value::integer(result, trusted);
    case BinaryOp::kMultiply:
      if (__builtin_mul_overflow(left, right, &result)) return overflow();
      return Value::integer(result, trusted);
    case BinaryOp::kDivide:
      if (right == 0) return zero_division();
      return Value::real(static_cast<double>(left) / static_cast<double>(right), trusted);
    case BinaryOp::kFloorDivide:
    case BinaryOp::kModulo:
      return integer_division(op, left, right, trusted);
    case BinaryOp::kPower:
      break;
  }
  if (right >= 0) return integer_power(left, right, trusted);
  if (left == 0) return zero_division();
  return Value::real(std::pow(static_cast<double>(left), static_cast<double>(right)), trusted);
}

Result<Value> real_binary(BinaryOp op, double left, double right, bool trusted) {
  switch (op) {
    case BinaryOp::kAdd:
      return Value::real(left + right, trusted);
    case BinaryOp::kSubtract:
      return Value::real(left - right, trusted);
    case BinaryOp::kMultiply:
      return Value::real(left * right, trusted);
    case BinaryOp::kDivide:
      if (right == 0) return zero_division();
      return Value::real(left / right, trusted);
    case BinaryOp::kFloorDivide:
    case BinaryOp::kModulo: {
      if (right == 0) return zero_division();
      double remainder = std::fmod(left, right);
      if (remainder != 0 && (remainder < 0) != (right < 0)) remainder += right;
      if (remainder == 0) remainder = std::copysign(0.0, right);
      if (op == BinaryOp::kModulo) return Value::real(remainder, trusted);
      return Value::real(std::round((left - remainder) / right), trusted);
    }
    case BinaryOp::kPower:
      break;
  }
  if (left == 0 && right < 0) return zero_division();
  const double power = std::pow(left, right);
  if (std::isnan(power) && !std::isnan(left) && !std::isnan(right)) return render_error("a root of a negative number");
  if (std::isinf(power) && std::isfinite(left) && std::isfinite(right)) return render_error("a power is out of range");
  return Value::real(power, trusted);
}

Result<Value> add_lists(Budget& budget, const Value& left, const Value& right) {
  std::vector<Value> items = left.items();
  items.insert(items.end(), right.items().begin(), right.items().end());
  return Value::list(budget, std::move(items),
                     left.list().form == ListForm::kList ? ListForm::kList : ListForm::kTuple);
}

Result<Value> repeat_text(Budget& budget, const Text& once, size_t count) {
  if (!once.empty() && count > budget.memory_left() / once.size()) return budget.out_of_memory();
  BRIO_TRY_OK(budget.spend_bytes(once.size() * count));
  constexpr size_t kBlockBytes = 4096;  // short strings are copied in blocks
  const size_t per_block =
      once.empty() ? 1 : std::clamp<size_t>(kBlockBytes / once.size(), 1, std::max<size_t>(count, 1));
  Text block;
  for (size_t i = 0; i < per_block; ++i) block.append(once);
  TextBuilder out(budget);
  for (size_t i = 0; i < (once.empty() ? 0 : count / per_block); ++i) out.append(block);
  for (size_t i = 0; i < (once.empty() ? 0 : count % per_block); ++i) out.append(once);
  return out.finish_value();
}

Result<Value> repeat(Budget& budget, const Value& sequence, int64_t times) {
  const auto count = static_cast<size_t>(std::max<int64_t>(times, 0));
  if (sequence.is_string()) return repeat_text(budget, sequence.text(), count);
  const std::vector<Value>& once = sequence.items();
  if (!once.empty() && count > budget.memory_left() / sizeof(Value) / once.size()) return budget.out_of_memory();
  std::vector<Value> items;
  items.reserve(once.size() * count);
  for (size_t i = 0; i < (once.empty() ? 0 : count); ++i) items.insert(items.end(), once.begin(), once.end());
  return Value::list(budget, std::move(items), sequence.list().form);
}

Result<bool> equal_lists(Budget& budget, const std::vector<Value>& left, const std::vector<Value>& right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    BRIO_TRY(const bool same, equal(budget, left[i], right[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> equal_dicts(Budget& budget, const Dict& left, const Dict& right) {
  if (left.size() != right.size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* other = right.find(key);
    if (other == nullptr) return false;
    BRIO_TRY(const bool same, equal(budget, value, *other));
    if (!same) return false;
  }
  return true;
}

ListForm equality_form(const Value& list) {
  const ListForm form = list.list().form;
  return form == ListForm::kGroup ? ListForm::kTuple : form;
}

}  // namespace

Result<Value> binary(Budget& budget, BinaryOp op, const Value& left, const Value& right) {
  const bool trusted = left.trusted() && right.trusted();
  if (left.is_integral() && right.is_integral()) return integer_binary(op, left.integer(), right.integer(), trusted);
  if (left.is_number() && right.is_number()) return real_binary(op, left.real(), right.real(), trusted);
  if (op == BinaryOp::kModulo && left.is_string()) return percent_format(budget, left.text(), right);
  if (op == BinaryOp::kAdd) {
    if (left.is_string() && right.is_string()) {
      TextBuilder out(budget);
      out.append(left.text());
      out.append(right.text());
      return out.finish_value();
    }
    if (concatenates(left) && concatenates(right) && equality_form(left) == equality_form(right)) {
      return add_lists(budget, left, right);
    }
  }
  if (op == BinaryOp::kMultiply) {
    if ((left.is_string() || concatenates(left)) && right.is_integral()) return repeat(budget, left, right.integer());
    if ((right.is_string() || concatenates(right)) && left.is_integral()) return repeat(budget, right, left.integer());
  }
  return mismatch(op, left, right);
}

Result<Value> unary(UnaryOp op, const Value& operand) {
  if (op == UnaryOp::kNot) return Value::boolean(!truthy(operand));
  if (operand.is_undefined()) return undefined_error(operand);
  if (!operand.is_number()) return render_error("a sign needs a number, not a {}", operand.type_name());
  if (operand.is(Kind::kFloat)) {
    return Value::real(op == UnaryOp::kMinus ? -operand.real() : operand.real(), operand.trusted());
  }
  int64_t result = operand.integer();
  if (op == UnaryOp::kMinus && __builtin_sub_overflow(int64_t{0}, result, &result)) return overflow();
  return Value::integer(result, operand.trusted());
}

Result<bool> equal(Budget& budget, const Value& left, const Value& right) {
  BRIO_TRY_OK(budget.spend(1));
  if (left.is_number() && right.is_number()) {
    if (left.is_integral() && right.is_integral()) return left.integer() == right.integer();
    return left.real() == right.real();
  }
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      if (left.text().size() != right.text().size()) return false;
      BRIO_TRY_OK(budget.spend_bytes(left.text().size()));
      return left.bytes() == right.bytes();
    case Kind::kList:
      if (&left.list() == &right.list()) return true;
      if (left.is_form(ListForm::kGenerator) || equality_form(left) != equality_form(right)) return false;
      return equal_lists(budget, left.items(), right.items());
    case Kind::kDict:
      if (&left.dict() == &right.dict()) return true;
      return equal_dicts(budget, left.dict(), right.dict());
    default:
      return left.same_as(right);
  }
}

Result<bool> less(Budget& budget, const Value& left, const Value& right) {
  BRIO_TRY_OK(budget.spend(1));
  if (left.is_number() && right.is_number()) {
    if (left.is_integral() && right.is_integral()) return left.integer() < right.integer();
    return left.real() < right.real();
  }
  if (left.is_string() && right.is_string()) {  // the order of UTF-8 bytes is that of characters
    BRIO_TRY_OK(budget.spend_bytes(std::min(left.text().size(), right.text().size())));
    return left.bytes() < right.bytes();
  }
  if (concatenates(left) && concatenates(right) && equality_form(left) == equality_form(right)) {
    const std::vector<Value>& a = left.items();
    const std::vector<Value>& b = right.items();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      BRIO_TRY(const bool same, equal(budget, a[i], b[i]));
      if (!same) return less(budget, a[i], b[i]);
    }
    return a.size() < b.size();
  }
  if (left.is_undefined()) return undefined_error(left);
  if (right.is_undefined()) return undefined_error(right);
  return render_error("a {} and a {} have no order", left.type_name(), right.type_name());
}

Result<bool> contains(Budget& budget, const Value& container, const Value& item) {
  if (container.is_undefined()) return false;
  if (container.is_string()) {
    BRIO_TRY(const Text* needle, to_text_argument(item, "the left side of 'in' a string"));
    BRIO_TRY_OK(budget.spend_bytes(container.text().size()));
    return find_bytes(container.bytes(), needle->bytes(), 0) != std::string_view::npos;
  }
  if (container.is_dict()) {
    if (item.is_list() || item.is_dict()) return render_error("a {} cannot be a key", item.type_name());
    return container.dict().find(item) != nullptr;
  }
  if (!container.is_list()) return render_error("'in' cannot search a {}", container.type_name());
  const ListCell& list = container.list();
  for (size_t i = list.consumed; i < list.items.size(); ++i) {
    BRIO_TRY(const bool same, equal(budget, list.items[i], item));
    if (list.form == ListForm::kGenerator) list.consumed = i + 1;
    if (same) return true;
  }
  return false;
}

Result<bool> compare(Budget& budget, CompareOp op, const Value& left, const Value& right) {
  switch (op) {
    case CompareOp::kEqual:
      return equal(budget, left, right);
    case CompareOp::kNotEqual: {
      BRIO_TRY(const bool same, equal(budget, left, right));
      return !same;
    }
    case CompareOp::kIn:
      return contains(budget, right, left);
    case CompareOp::kNotIn: {
      BRIO_TRY(const bool found, contains(budget, right, left));
      return !found;
    }
    case CompareOp::kLess:
      return less(budget, left, right);
    case CompareOp::kGreater:
      return less(budget, right, left);
    default:
      break;
  }
  const Value& low = op == CompareOp::kLessEqual ? left : right;
  const Value& high = op == CompareOp::kLessEqual ? right : left;
  if (low.is_number() && high.is_number()) {  // not "no greater": NaN is neither
    return low.is_integral() && high.is_integral() ? low.integer() <= high.integer() : low.real() <= high.real();
  }
  BRIO_TRY(const bool greater, less(budget, high, low));
  return !greater;
}

}  // namespace brio::chat
