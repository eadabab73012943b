// Value: what a Jinja expression evaluates to. Cheap to copy: strings, lists and dictionaries are shared and never
// change (the sandbox is immutable). One rendering thread; literals in a parsed template are shared between threads,
// read-only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "chat/budget.h"
#include "chat/text.h"

namespace brio::chat {

struct StringCell;
struct ListCell;
struct DictCell;
class Object;

enum class Kind : uint8_t { kUndefined, kNone, kBool, kInt, kFloat, kString, kList, kDict, kObject };

// What Python would have: they differ in printing, in equality and in what may index them.
enum class ListForm : uint8_t {
  kList,
  kTuple,
  kRange,
  kView,       // keys(), values(), items() of a dictionary
  kGenerator,  // map, select, ...: always true, has no length, empty after one pass
  kGroup,      // (grouper, list) of groupby
};

class Value {
 public:
  Value() : Value(undefined("a value that nobody gave is undefined")) {}
  static Value undefined(std::string why);  // why: the message of the error when somebody uses it
  static Value none(bool trusted = true) { return Value(None{}, trusted); }
  static Value boolean(bool value, bool trusted = true) { return Value(value, trusted); }
  static Value integer(int64_t value, bool trusted = true) { return Value(value, trusted); }
  static Value real(double value, bool trusted = true) { return Value(value, trusted); }
  static Value object(std::shared_ptr<Object> object) { return Value(std::move(object), true); }
  static Value literal(std::string_view text);  // trusted, outside any budget: only for text of the template's source
  // Charge budget and count steps.
  static Result<Value> string(Budget& budget, Text text);
  static Result<Value> string(Budget& budget, std::string_view text, bool trusted);
  static Result<Value> list(Budget& budget, std::vector<Value> items, ListForm form = ListForm::kList);
  static Result<Value> dict(Budget& budget, class Dict dict);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool is_undefined() const { return is(Kind::kUndefined); }
  bool is_none() const { return is(Kind::kNone); }
  bool is_string() const { return is(Kind::kString); }
  bool is_list() const { return is(Kind::kList); }
  bool is_dict() const { return is(Kind::kDict); }
  bool is_number() const { return is(Kind::kBool) || is(Kind::kInt) || is(Kind::kFloat); }
  bool is_integral() const { return is(Kind::kBool) || is(Kind::kInt); }
  bool is_form(ListForm form) const;
  // Whether the digits of a number (True, None) may be part of a control token; strings say it per character.
  bool trusted() const { return trusted_; }

  // Each only for its kind.
  const std::string& undefined_why() const { return *std::get<0>(data_); }
  bool boolean() const { return std::get<2>(data_); }
  int64_t integer() const { return is(Kind::kBool) ? int64_t{boolean()} : std::get<3>(data_); }           // integral
  double real() const { return is(Kind::kFloat) ? std::get<4>(data_) : static_cast<double>(integer()); }  // number
  const Text& text() const;
  const std::string& bytes() const { return text().bytes(); }
  const ListCell& list() const { return *std::get<6>(data_); }
  const std::vector<Value>& items() const;
  const Dict& dict() const;
  Object& object() const { return *std::get<8>(data_); }

  int depth() const;                       // nested lists, dictionaries and objects
  bool same_as(const Value& other) const;  // Python's `is`
  std::string_view type_name() const;      // Python's: "str", "dict", ...

 private:
  struct None {};
  using Data =
      std::variant<std::shared_ptr<const std::string>, None, bool, int64_t, double, std::shared_ptr<const StringCell>,
                   std::shared_ptr<const ListCell>, std::shared_ptr<const DictCell>, std::shared_ptr<Object>>;
  template <typename T>
  Value(T value, bool trusted) : data_(std::in_place_type<T>, std::move(value)), trusted_(trusted) {}

  Data data_;
  bool trusted_ = true;
};

// Keys keep the order of insertion; 1, 1.0 and True are one key, as in Python.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  const Value* find(const Value& key) const;  // null: absent, or a key that Python cannot hash
  const Value* find(std::string_view key) const;
  Result<void> set(Value key, Value value);  // error: a list or dictionary as key

 private:
  const Value* find_canonical(const std::string& canonical) const;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;  // canonical key -> entry
};

struct StringCell {
  Text text;
  MemoryCharge charge;
};
struct ListCell {
  std::vector<Value> items;
  ListForm form = ListForm::kList;
  int depth = 1;
  mutable size_t consumed = 0;  // of a generator
  MemoryCharge charge;
};
struct DictCell {
  Dict dict;
  int depth = 1;
  MemoryCharge charge;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Interpreter;

// Anything else a template can hold: namespaces, macros, loops, functions.
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  virtual bool callable() const { return false; }
  virtual Result<Value> call(Interpreter& interpreter, const Arguments& arguments);
  virtual std::optional<Value> attribute(std::string_view name);
  virtual int depth() const { return 1; }
};

}  // namespace brio::chat
