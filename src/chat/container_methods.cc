// Methods of dictionaries and lists that read; those that write do not exist in the sandbox.
#include <algorithm>
#include <functional>

#include "chat/convert.h"
#include "chat/native.h"
#include "chat/operators.h"

namespace brio::chat {
namespace {

Result<Value> get(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"key", "default"}, 1));
  if (bound[0]->is_list() || bound[0]->is_dict()) return render_error("a {} cannot be a key", bound[0]->type_name());
  const Value* found = self.dict().find(*bound[0]);
  if (found != nullptr) return *found;
  return bound[1] == nullptr ? Value::none() : *bound[1];
}

Result<Value> items(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  std::vector<Value> pairs;
  for (const auto& [key, value] : self.dict().entries()) {
    BRIO_TRY(Value pair, Value::list(in.budget(), {key, value}, ListForm::kTuple));
    pairs.push_back(std::move(pair));
  }
  return Value::list(in.budget(), std::move(pairs), ListForm::kView);
}

Result<Value> keys(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  std::vector<Value> keys;
  for (const auto& entry : self.dict().entries()) keys.push_back(entry.first);
  return Value::list(in.budget(), std::move(keys), ListForm::kView);
}

Result<Value> values(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  std::vector<Value> values;
  for (const auto& entry : self.dict().entries()) values.push_back(entry.second);
  return Value::list(in.budget(), std::move(values), ListForm::kView);
}

Result<Value> copy(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  return self;  // values do not change, so a copy is the thing itself
}

Result<Value> index(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"value"}, 1));
  for (size_t i = 0; i < self.items().size(); ++i) {
    BRIO_TRY(const bool same, equal(in.budget(), self.items()[i], *bound[0]));
    if (same) return Value::integer(static_cast<int64_t>(i));
  }
  return render_error("index(): the list does not contain that value");
}

Result<Value> count(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"value"}, 1));
  int64_t found = 0;
  for (const Value& item : self.items()) {
    BRIO_TRY(const bool same, equal(in.budget(), item, *bound[0]));
    if (same) ++found;
  }
  return Value::integer(found);
}

constexpr NativeEntry kDictMethods[] = {
    {"copy", copy}, {"get", get}, {"items", items}, {"keys", keys}, {"values", values}};
constexpr NativeEntry kListMethods[] = {{"copy", copy}, {"count", count}, {"index", index}};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListChanges[] = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};

template <typename Table, typename Projection = std::identity>
auto find_in(const Table& table, std::string_view name, Projection projection = {}) {
  const auto* found = std::ranges::find(table, name, projection);
  return found == std::end(table) ? nullptr : found;
}

}  // namespace

const NativeEntry* find_dict_method(std::string_view name) {
  return find_in(kDictMethods, name, &NativeEntry::name);
}
const NativeEntry* find_list_method(std::string_view name) {
  return find_in(kListMethods, name, &NativeEntry::name);
}

bool changes_its_object(const Value& object, std::string_view method) {
  if (object.is_dict()) return find_in(kDictChanges, method) != nullptr;
  return object.is_form(ListForm::kList) && find_in(kListChanges, method) != nullptr;
}

}  // namespace brio::chat
