// Filters on sequences: elements, selection, mapping.
#include <algorithm>

#include "chat/convert.h"
#include "chat/filters.h"
#include "chat/lookup.h"

namespace brio::chat::filters {
namespace {

// What jinja2 writes as a generator function.
Result<Value> generator(Interpreter& in, std::vector<Value> items) {
  return Value::list(in.budget(), std::move(items), ListForm::kGenerator);
}

// The items of a filtered value: none when it is false (undefined, None, ""), as jinja2's `if value:`.
Result<Value> items_if_any(Interpreter& in, const Value& self) {
  if (!truthy(self)) return Value::list(in.budget(), {});
  return as_list(in.budget(), self);
}

Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count), arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

enum class Keep : uint8_t { kPassing, kFailing };

// select and reject (by_attribute null), selectattr and rejectattr. `test` is the rest of the arguments: name and its
// own.
Result<Value> filtered(Interpreter& in, const Value& self, const Value* by_attribute, const Arguments& test,
                       Keep keep) {
  BRIO_TRY(const Value list, items_if_any(in, self));
  const Arguments test_arguments = test.positional.empty() ? Arguments{} : without_first(test, 1);
  std::vector<Value> kept;
  for (const Value& item : list.items()) {
    BRIO_TRY_OK(in.budget().spend(1));
    BRIO_TRY(const Value subject, by_attribute == nullptr ? Result<Value>(item) : path_of(in, item, *by_attribute));
    bool passes = false;
    if (test.positional.empty()) {
      passes = truthy(subject);
    } else {
      BRIO_TRY(const Text* name, to_text_argument(test.positional[0], "the name of a test"));
      BRIO_TRY(passes, in.apply_test(name->bytes(), subject, test_arguments));
    }
    if (passes == (keep == Keep::kPassing)) kept.push_back(item);
  }
  return generator(in, std::move(kept));
}

Result<Value> filtered_by_attribute(Interpreter& in, const Value& self, const Arguments& arguments, Keep keep) {
  if (arguments.positional.empty()) return render_error("selectattr and rejectattr need the name of an attribute");
  return filtered(in, self, &arguments.positional[0], without_first(arguments, 1), keep);
}

Result<Value> map_attribute(Interpreter& in, const Value& list, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"attribute", "default"}, 1));
  const bool has_default = bound[1] != nullptr && !bound[1]->is_none();
  std::vector<Value> mapped;
  for (const Value& item : list.items()) {
    BRIO_TRY_OK(in.budget().spend(1));
    BRIO_TRY(Value value, path_of(in, item, *bound[0]));
    if (value.is_undefined() && has_default) value = *bound[1];
    mapped.push_back(std::move(value));
  }
  return generator(in, std::move(mapped));
}

}  // namespace

Result<Value> first(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  if (self.is_form(ListForm::kGenerator)) {
    const ListCell& list = self.list();
    if (list.consumed < list.items.size()) return list.items[list.consumed++];
    return Value::undefined("there is no first item: the sequence is empty");
  }
  if (self.is_string() && !self.text().empty()) return item_of(in, self, Value::integer(0));
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  return list.items().empty() ? Value::undefined("there is no first item: the sequence is empty")
                              : list.items().front();
}

Result<Value> last(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  if (self.is_form(ListForm::kGenerator)) return render_error("a generator has no last item: make it a list first");
  if (self.is_string() && !self.text().empty()) return item_of(in, self, Value::integer(-1));
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  return list.items().empty() ? Value::undefined("there is no last item: the sequence is empty") : list.items().back();
}

Result<Value> length(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const int64_t count, chat::length(in.budget(), self));
  return Value::integer(count);
}

Result<Value> list(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(Value list, as_list(in.budget(), self));
  if (list.is_form(ListForm::kList)) return list;
  return Value::list(in.budget(), list.items());
}

Result<Value> reverse(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  if (self.is_string()) return slice_of(in, self, Value::none(), Value::none(), Value::integer(-1));
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  std::vector<Value> items(list.items().rbegin(), list.items().rend());
  if (self.is_form(ListForm::kGenerator)) return Value::list(in.budget(), std::move(items));
  return generator(in, std::move(items));
}

Result<Value> items(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  std::vector<Value> pairs;
  if (!self.is_undefined()) {
    if (!self.is_dict()) return render_error("items needs a dictionary, not a {}", self.type_name());
    for (const auto& [key, value] : self.dict().entries()) {
      BRIO_TRY(Value pair, Value::list(in.budget(), {key, value}, ListForm::kTuple));
      pairs.push_back(std::move(pair));
    }
  }
  return generator(in, std::move(pairs));
}

Result<Value> batch(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"linecount", "fill_with"}, 1));
  BRIO_TRY(const int64_t count, bound.integer(0, 1));
  if (count < 1) return render_error("batch needs a positive number of items");
  const auto size = static_cast<size_t>(count);
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  const std::vector<Value>& all = list.items();
  std::vector<Value> batches;
  for (size_t at = 0; at < all.size(); at += std::min(size, all.size() - at)) {
    const size_t end = at + std::min(size, all.size() - at);
    std::vector<Value> items(all.begin() + static_cast<std::ptrdiff_t>(at),
                             all.begin() + static_cast<std::ptrdiff_t>(end));
    if (items.size() < size && bound[1] != nullptr && !bound[1]->is_none()) {
      if (size > in.budget().memory_left() / sizeof(Value)) return in.budget().out_of_memory();
      items.resize(size, *bound[1]);
    }
    BRIO_TRY(Value row, Value::list(in.budget(), std::move(items)));
    batches.push_back(std::move(row));
  }
  return generator(in, std::move(batches));
}

Result<Value> slice(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"slices", "fill_with"}, 1));
  BRIO_TRY(const int64_t slices, bound.integer(0, 1));
  if (slices < 1) return render_error("slice needs a positive number of slices");
  BRIO_TRY(const Value list, as_list(in.budget(), self));
  const std::vector<Value>& all = list.items();
  const size_t each = all.size() / static_cast<size_t>(slices);
  const size_t longer = all.size() % static_cast<size_t>(slices);  // so many slices hold one more
  std::vector<Value> columns;
  size_t at = 0;
  for (size_t i = 0; i < static_cast<size_t>(slices); ++i) {
    const size_t end = at + each + (i < longer ? 1 : 0);
    std::vector<Value> items(all.begin() + static_cast<std::ptrdiff_t>(at),
                             all.begin() + static_cast<std::ptrdiff_t>(end));
    if (i >= longer && bound[1] != nullptr && !bound[1]->is_none()) items.push_back(*bound[1]);
    BRIO_TRY(Value column, Value::list(in.budget(), std::move(items)));
    columns.push_back(std::move(column));
    at = end;
  }
  return generator(in, std::move(columns));
}

Result<Value> attr(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"name"}, 1));
  BRIO_TRY(const Text* name, bound.text(0));
  if (self.is_dict() && find_dict_method(name->bytes()) == nullptr) {
    return Value::undefined(fmt::format("a dict has no attribute '{}'", shown(name->bytes())));
  }
  return attribute_of(in, self, name->bytes());
}

Result<Value> otherwise(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"default_value", "boolean"}));
  const bool replace = self.is_undefined() || (bound.flag(1, false) && !truthy(self));
  if (!replace) return self;
  return bound[0] == nullptr ? Value::literal("") : *bound[0];
}

Result<Value> map(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Value list, items_if_any(in, self));
  if (arguments.positional.empty()) return map_attribute(in, list, arguments);
  BRIO_TRY(const Text* name, to_text_argument(arguments.positional[0], "the name of a filter"));
  const Arguments rest = without_first(arguments, 1);
  std::vector<Value> mapped;
  for (const Value& item : list.items()) {
    BRIO_TRY(Value value, in.apply_filter(name->bytes(), item, rest));
    mapped.push_back(std::move(value));
  }
  return generator(in, std::move(mapped));
}

Result<Value> select(Interpreter& in, const Value& self, const Arguments& arguments) {
  return filtered(in, self, nullptr, arguments, Keep::kPassing);
}
Result<Value> reject(Interpreter& in, const Value& self, const Arguments& arguments) {
  return filtered(in, self, nullptr, arguments, Keep::kFailing);
}
Result<Value> selectattr(Interpreter& in, const Value& self, const Arguments& arguments) {
  return filtered_by_attribute(in, self, arguments, Keep::kPassing);
}
Result<Value> rejectattr(Interpreter& in, const Value& self, const Arguments& arguments) {
  return filtered_by_attribute(in, self, arguments, Keep::kFailing);
}

}  // namespace brio::chat::filters
