#include "chat/lookup.h"

#include <algorithm>
#include <charconv>

#include "chat/convert.h"
#include "chat/native.h"
#include "chat/unicode.h"

namespace brio::chat {
namespace {

Value missing_attribute(const Value& object, std::string_view name) {
  return Value::undefined(fmt::format("a {} has no attribute '{}'", object.type_name(), shown(name)));
}

std::optional<Value> method_of(const Value& object, std::string_view name) {
  const NativeEntry* method = object.is_string() ? find_string_method(name)
                              : object.is_dict() ? find_dict_method(name)
                              : object.is_list() ? find_list_method(name)
                                                 : nullptr;
  if (method != nullptr) return NativeFunction::bind(*method, object);
  if (changes_its_object(object, name)) {
    return Value::undefined(
        fmt::format("a template cannot change a {}: '{}' is not available", object.type_name(), name));
  }
  if (object.is_form(ListForm::kGroup) && name == "grouper") return object.items()[0];
  if (object.is_form(ListForm::kGroup) && name == "list") return object.items()[1];
  if (object.is(Kind::kObject)) return object.object().attribute(name);
  return std::nullopt;
}

bool indexable(const Value& value) {
  return value.is_list() && !value.is_form(ListForm::kView) && !value.is_form(ListForm::kGenerator);
}

Result<std::optional<Value>> element_of(Interpreter& in, const Value& object, int64_t index) {
  BRIO_TRY(const int64_t size, length(in.budget(), object));
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::optional<Value>();
  const auto at = static_cast<size_t>(index);
  if (object.is_list()) return std::optional<Value>(object.items()[at]);
  const Text& text = object.text();
  const size_t begin = text.offset(at);
  const size_t end = begin + character_bytes(text.bytes(), begin);
  BRIO_TRY(Value character, Value::string(in.budget(), text.slice(begin, end)));
  return std::optional<Value>(std::move(character));
}

struct SliceRange {
  int64_t start, step, count;
};

Result<int64_t> bound_of(const Value& value, int64_t otherwise, int64_t low, int64_t high, int64_t size) {
  if (value.is_none()) return otherwise;
  BRIO_TRY(int64_t bound, to_index(value, "the bound of a slice"));
  if (bound < 0) bound = bound < -size ? low : bound + size;
  return std::clamp(bound, low, high);
}

// Python's rules: bounds count from the end when negative and are cut to the sequence.
Result<SliceRange> slice_range(const Value& start, const Value& stop, const Value& step, int64_t size) {
  SliceRange range{0, 1, 0};
  if (!step.is_none()) {
    BRIO_TRY(range.step, to_index(step, "the step of a slice"));
  }
  if (range.step == 0) return render_error("the step of a slice is zero");
  range.step = std::clamp<int64_t>(range.step, -size - 1, size + 1);
  const bool forward = range.step > 0;
  const int64_t low = forward ? 0 : -1;
  const int64_t high = forward ? size : size - 1;
  BRIO_TRY(range.start, bound_of(start, forward ? low : high, low, high, size));
  BRIO_TRY(const int64_t end, bound_of(stop, forward ? high : low, low, high, size));
  const int64_t span = forward ? end - range.start : range.start - end;
  if (span > 0) range.count = (span - 1) / std::abs(range.step) + 1;
  return range;
}

Result<Value> slice_text(Budget& budget, const Text& text, const SliceRange& range) {
  TextBuilder out(budget);
  BRIO_TRY_OK(budget.spend_bytes(text.size()));
  if (range.step == 1) {
    const size_t begin = text.offset(static_cast<size_t>(range.start));
    const size_t end = text.offset(static_cast<size_t>(range.start + range.count));
    out.append(text, begin, range.count == 0 ? begin : end);
    return out.finish_value();
  }
  BRIO_TRY(const MemoryCharge charge, MemoryCharge::take(budget, (text.size() + 1) * sizeof(size_t)));
  std::vector<size_t> offsets;  // of every character
  offsets.reserve(text.size() + 1);
  for (size_t at = 0; at < text.size(); at += character_bytes(text.bytes(), at)) offsets.push_back(at);
  offsets.push_back(text.size());
  for (int64_t i = 0; i < range.count && !out.full(); ++i) {
    const auto index = static_cast<size_t>(range.start + i * range.step);
    out.append(text, offsets[index], offsets[index + 1]);
  }
  return out.finish_value();
}

}  // namespace

Result<Value> attribute_of(Interpreter& in, const Value& object, std::string_view name) {
  if (object.is_undefined()) return undefined_error(object);
  if (std::optional<Value> method = method_of(object, name)) return std::move(*method);
  if (object.is_dict()) {
    BRIO_TRY_OK(in.budget().spend(1));
    if (const Value* value = object.dict().find(name)) return *value;
  }
  return missing_attribute(object, name);
}

Result<Value> item_of(Interpreter& in, const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_error(object);
  if (object.is_dict()) {
    if (const Value* value = object.dict().find(key)) return *value;
  }
  if (key.is_integral() && (indexable(object) || object.is_string())) {
    BRIO_TRY(std::optional<Value> element, element_of(in, object, key.integer()));
    if (element) return std::move(*element);
    return Value::undefined(fmt::format("a {} has no element {}", object.type_name(), key.integer()));
  }
  if (key.is_string()) {
    if (std::optional<Value> method = method_of(object, key.bytes())) return std::move(*method);
    return missing_attribute(object, key.bytes());
  }
  return Value::undefined(fmt::format("a {} has no element for a {}", object.type_name(), key.type_name()));
}

Result<Value> slice_of(Interpreter& in, const Value& object, const Value& start, const Value& stop, const Value& step) {
  if (object.is_undefined()) return undefined_error(object);
  if (!object.is_string() && !indexable(object)) {
    return render_error("a {} cannot be sliced", object.type_name());
  }
  BRIO_TRY(const int64_t size, length(in.budget(), object));
  BRIO_TRY(const SliceRange range, slice_range(start, stop, step, size));
  if (object.is_string()) return slice_text(in.budget(), object.text(), range);
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(range.count));
  for (int64_t i = 0; i < range.count; ++i) {
    items.push_back(object.items()[static_cast<size_t>(range.start + i * range.step)]);
  }
  const ListForm form = object.is_form(ListForm::kGroup) ? ListForm::kTuple : object.list().form;
  return Value::list(in.budget(), std::move(items), form);
}

Result<Value> path_of(Interpreter& in, const Value& object, const Value& path) {
  if (!path.is_string()) return item_of(in, object, path);
  Value value = object;
  std::string_view rest = path.bytes();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    int64_t index = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool digits =
        !part.empty() && part.front() != '-' && parsed.ptr == part.data() + part.size() && parsed.ec == std::errc();
    if (digits) {
      BRIO_TRY(value, item_of(in, value, Value::integer(index)));
    } else {
      BRIO_TRY(Value key, Value::string(in.budget(), part, true));
      BRIO_TRY(value, item_of(in, value, key));
    }
    if (dot == std::string_view::npos) return value;
    rest = rest.substr(dot + 1);
  }
}

}  // namespace brio::chat
