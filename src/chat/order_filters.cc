// Filters that compare items. Strings compare without regard to case unless case_sensitive is given.
#include <algorithm>

#include "chat/convert.h"
#include "chat/filters.h"
#include "chat/lookup.h"
#include "chat/operators.h"
#include "chat/sorting.h"
#include "chat/text_functions.h"

namespace brio::chat::filters {
namespace {

// By what an item is compared.
struct KeyRule {
  const Value* attribute;  // null or none: the item itself
  const Value* otherwise;  // for an undefined attribute; may be null
  bool case_sensitive;
};

Result<Value> folded(Interpreter& in, Value value, const KeyRule& rule) {
  if (rule.case_sensitive || !value.is_string()) return value;
  return change_case(in.budget(), value.text(), Case::kLower);
}

Result<Value> plain_key(Interpreter& in, const Value& item, const KeyRule& rule) {
  if (rule.attribute == nullptr || rule.attribute->is_none()) return item;
  BRIO_TRY(Value value, path_of(in, item, *rule.attribute));
  if (value.is_undefined() && rule.otherwise != nullptr && !rule.otherwise->is_none()) return *rule.otherwise;
  return value;
}

Result<Value> key_of(Interpreter& in, const Value& item, const KeyRule& rule) {
  BRIO_TRY(Value key, plain_key(in, item, rule));
  return folded(in, std::move(key), rule);
}

Result<std::vector<Value>> keys_of(Interpreter& in, const std::vector<Value>& items, const KeyRule& rule) {
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    BRIO_TRY(Value key, key_of(in, item, rule));
    keys.push_back(std::move(key));
  }
  return keys;
}

// sort's key: a list, one entry for each of the attributes that commas separate.
Result<Value> sort_key(Interpreter& in, const Value& item, const KeyRule& rule) {
  std::vector<Value> parts;
  if (rule.attribute != nullptr && rule.attribute->is_string()) {
    const Text comma(",", true);
    BRIO_TRY(const Value paths, split_left(in.budget(), rule.attribute->text(), &comma, -1));
    for (const Value& path : paths.items()) {
      BRIO_TRY(Value part, key_of(in, item, KeyRule{&path, nullptr, rule.case_sensitive}));
      parts.push_back(std::move(part));
    }
  } else {
    BRIO_TRY(Value part, key_of(in, item, rule));
    parts.push_back(std::move(part));
  }
  return Value::list(in.budget(), std::move(parts));
}

Result<Value> extreme(Interpreter& in, const Value& self, const Arguments& arguments, Order order) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"case_sensitive", "attribute"}));
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  if (list.items().empty()) return Value::undefined("there is no extreme item: the sequence is empty");
  BRIO_TRY(const std::vector<Value> keys, keys_of(in, list.items(), KeyRule{bound[1], nullptr, bound.flag(0, false)}));
  size_t best = 0;
  for (size_t i = 1; i < keys.size(); ++i) {
    BRIO_TRY(const bool better, order == Order::kAscending ? less(in.budget(), keys[i], keys[best])
                                                           : less(in.budget(), keys[best], keys[i]));
    if (better) best = i;
  }
  return list.items()[best];
}

}  // namespace

Result<Value> sort(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"reverse", "case_sensitive", "attribute"}));
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  std::vector<Value> keys;
  for (const Value& item : list.items()) {
    BRIO_TRY(Value key, sort_key(in, item, KeyRule{bound[2], nullptr, bound.flag(1, false)}));
    keys.push_back(std::move(key));
  }
  const Order order = bound.flag(0, false) ? Order::kDescending : Order::kAscending;
  BRIO_TRY(const std::vector<size_t> indices, sorted_order(in.budget(), keys, order));
  std::vector<Value> sorted;
  sorted.reserve(indices.size());
  for (const size_t index : indices) sorted.push_back(list.items()[index]);
  return Value::list(in.budget(), std::move(sorted));
}

Result<Value> dictsort(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"case_sensitive", "by", "reverse"}));
  static const Text kByKey("key", true);
  BRIO_TRY(const Text* by, bound.text(1, &kByKey));
  if (by->bytes() != "key" && by->bytes() != "value") return render_error("dictsort sorts by 'key' or 'value'");
  if (self.is_undefined()) return undefined_error(self);
  if (!self.is_dict()) return render_error("dictsort needs a dictionary, not a {}", self.type_name());
  const auto& entries = self.dict().entries();
  const KeyRule rule{nullptr, nullptr, bound.flag(0, false)};
  std::vector<Value> keys;
  for (const auto& [key, value] : entries) {
    BRIO_TRY(Value sort_by, key_of(in, by->bytes() == "key" ? key : value, rule));
    keys.push_back(std::move(sort_by));
  }
  const Order order = bound.flag(2, false) ? Order::kDescending : Order::kAscending;
  BRIO_TRY(const std::vector<size_t> indices, sorted_order(in.budget(), keys, order));
  std::vector<Value> pairs;
  for (const size_t index : indices) {
    const auto& [key, value] = entries[index];
    BRIO_TRY(Value pair, Value::list(in.budget(), {key, value}, ListForm::kTuple));
    pairs.push_back(std::move(pair));
  }
  return Value::list(in.budget(), std::move(pairs));
}

Result<Value> unique(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"case_sensitive", "attribute"}));
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  const KeyRule rule{bound[1], nullptr, bound.flag(0, false)};
  constexpr size_t kKeyBytes = 256;  // entry, index node, spelling of the key
  MemoryCharge charge;
  Dict seen;
  std::vector<Value> kept;
  for (const Value& item : list.items()) {
    BRIO_TRY_OK(in.budget().spend(1));
    BRIO_TRY(Value key, key_of(in, item, rule));
    const size_t before = seen.size();
    BRIO_TRY_OK(seen.set(std::move(key), Value::none()));
    if (seen.size() == before) continue;
    if (!charge.grow(in.budget(), kKeyBytes)) return in.budget().out_of_memory();
    kept.push_back(item);
  }
  return Value::list(in.budget(), std::move(kept), ListForm::kGenerator);
}

Result<Value> min(Interpreter& in, const Value& self, const Arguments& arguments) {
  return extreme(in, self, arguments, Order::kAscending);
}
Result<Value> max(Interpreter& in, const Value& self, const Arguments& arguments) {
  return extreme(in, self, arguments, Order::kDescending);
}

Result<Value> sum(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"attribute", "start"}));
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  Value total = bound[1] == nullptr ? Value::integer(0) : *bound[1];
  if (total.is_string()) return render_error("sum adds numbers or lists: join strings instead");
  for (const Value& item : list.items()) {
    BRIO_TRY_OK(in.budget().spend(1));
    BRIO_TRY(const Value value, plain_key(in, item, KeyRule{bound[0], nullptr, true}));
    BRIO_TRY(total, binary(in.budget(), BinaryOp::kAdd, total, value));
  }
  return total;
}

Result<Value> groupby(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"attribute", "default", "case_sensitive"}, 1));
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  const KeyRule rule{bound[0], bound[1], bound.flag(2, false)};
  BRIO_TRY(const std::vector<Value> keys, keys_of(in, list.items(), rule));
  BRIO_TRY(const std::vector<size_t> indices, sorted_order(in.budget(), keys, Order::kAscending));
  std::vector<Value> groups;
  for (size_t at = 0; at < indices.size();) {
    const size_t first = indices[at];
    std::vector<Value> members;
    while (at < indices.size()) {
      BRIO_TRY(const bool same, equal(in.budget(), keys[first], keys[indices[at]]));
      if (!same) break;
      members.push_back(list.items()[indices[at++]]);
    }
    BRIO_TRY(Value grouper, plain_key(in, members.front(), rule));
    BRIO_TRY(Value group, Value::list(in.budget(), std::move(members)));
    BRIO_TRY(Value pair, Value::list(in.budget(), {std::move(grouper), std::move(group)}, ListForm::kGroup));
    groups.push_back(std::move(pair));
  }
  return Value::list(in.budget(), std::move(groups));
}

}  // namespace brio::chat::filters
