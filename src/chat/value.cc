#include "chat/value.h"

#include <algorithm>
#include <cmath>

namespace brio::chat {
namespace {

constexpr size_t kCellBytes = 64;                           // allocation header, reference counts, cell
constexpr size_t kDictEntryBytes = 2 * sizeof(Value) + 96;  // entry, index node, canonical key

// One spelling per key that Python regards as equal; nothing for what it cannot hash.
std::optional<std::string> canonical_key(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
      return "s" + key.bytes();
    case Kind::kBool:
    case Kind::kInt:
      return fmt::format("i{}", key.integer());
    case Kind::kFloat: {
      const double number = key.real();
      if (number == std::floor(number) && std::abs(number) < 9e18)
        return fmt::format("i{}", static_cast<int64_t>(number));
      return fmt::format("f{}", number);
    }
    case Kind::kNone:
      return "n";
    case Kind::kUndefined:
      return "u";
    default:
      return std::nullopt;
  }
}

int deepest(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth;
}

}  // namespace

Value Value::undefined(std::string why) {
  return Value(std::shared_ptr<const std::string>(std::make_shared<std::string>(std::move(why))), true);
}

Value Value::literal(std::string_view text) {
  auto cell = std::make_shared<StringCell>();
  cell->text = Text(text, true);
  return Value(std::shared_ptr<const StringCell>(std::move(cell)), true);
}

Result<Value> Value::string(Budget& budget, Text text) {
  BRIO_TRY_OK(budget.spend_bytes(text.size()));
  const size_t bytes = kCellBytes + sizeof(StringCell) + text.size() + text.runs().size_bytes();
  BRIO_TRY(MemoryCharge charge, MemoryCharge::take(budget, bytes));
  return Value(std::shared_ptr<const StringCell>(new StringCell{std::move(text), std::move(charge)}), true);
}

Result<Value> Value::string(Budget& budget, std::string_view text, bool trusted) {
  return string(budget, Text(text, trusted));
}

Result<Value> Value::list(Budget& budget, std::vector<Value> items, ListForm form) {
  const int depth = deepest(items) + 1;
  if (depth > budget.limits().max_depth) return budget.too_deep();
  const size_t bytes = items.size() * sizeof(Value);
  BRIO_TRY_OK(budget.spend_bytes(bytes));
  BRIO_TRY(MemoryCharge charge, MemoryCharge::take(budget, kCellBytes + sizeof(ListCell) + bytes));
  auto* cell = new ListCell{std::move(items), form, depth, 0, std::move(charge)};
  return Value(std::shared_ptr<const ListCell>(cell), true);
}

Result<Value> Value::dict(Budget& budget, Dict dict) {
  int depth = 1;
  size_t bytes = kCellBytes + sizeof(DictCell);
  for (const auto& [key, value] : dict.entries()) {
    depth = std::max(depth, value.depth() + 1);
    bytes += kDictEntryBytes + (key.is_string() ? key.bytes().size() : 0);
  }
  if (depth > budget.limits().max_depth) return budget.too_deep();
  BRIO_TRY_OK(budget.spend_bytes(bytes));
  BRIO_TRY(MemoryCharge charge, MemoryCharge::take(budget, bytes));
  return Value(std::shared_ptr<const DictCell>(new DictCell{std::move(dict), depth, std::move(charge)}), true);
}

bool Value::is_form(ListForm form) const {
  return is_list() && list().form == form;
}
const Text& Value::text() const {
  return std::get<5>(data_)->text;
}
const std::vector<Value>& Value::items() const {
  return list().items;
}
const Dict& Value::dict() const {
  return std::get<7>(data_)->dict;
}

int Value::depth() const {
  if (is_list()) return list().depth;
  if (is_dict()) return std::get<7>(data_)->depth;
  return is(Kind::kObject) ? object().depth() : 0;
}

bool Value::same_as(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::kNone:
      return true;
    case Kind::kBool:
      return boolean() == other.boolean();
    case Kind::kInt:
      return integer() == other.integer();
    case Kind::kFloat:
      return real() == other.real();
    case Kind::kString:
      return &text() == &other.text() || bytes() == other.bytes();  // Python interns short strings
    case Kind::kList:
      return &list() == &other.list();
    case Kind::kDict:
      return &dict() == &other.dict();
    case Kind::kObject:
      return &object() == &other.object();
    case Kind::kUndefined:
      return &undefined_why() == &other.undefined_why();
  }
  return false;
}

std::string_view Value::type_name() const {
  switch (kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return "object";
    case Kind::kList:
      break;
  }
  switch (list().form) {
    case ListForm::kList:
      return "list";
    case ListForm::kTuple:
    case ListForm::kGroup:
      return "tuple";
    case ListForm::kRange:
      return "range";
    case ListForm::kView:
      return "view";
    case ListForm::kGenerator:
      return "generator";
  }
  return "list";
}

const Value* Dict::find_canonical(const std::string& canonical) const {
  const auto found = index_.find(canonical);
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dict::find(const Value& key) const {
  const std::optional<std::string> canonical = canonical_key(key);
  return canonical ? find_canonical(*canonical) : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  return find_canonical(std::string("s").append(key));
}

Result<void> Dict::set(Value key, Value value) {
  std::optional<std::string> canonical = canonical_key(key);
  if (!canonical) return render_error("a {} cannot be the key of a dictionary", key.type_name());
  const auto [place, fresh] = index_.emplace(std::move(*canonical), entries_.size());
  if (fresh) {
    entries_.emplace_back(std::move(key), std::move(value));
  } else {
    entries_[place->second].second = std::move(value);
  }
  return {};
}

Result<Value> Object::call(Interpreter&, const Arguments&) {
  return render_error("'{}' is not callable", type_name());
}
std::optional<Value> Object::attribute(std::string_view) {
  return std::nullopt;
}

}  // namespace brio::chat
