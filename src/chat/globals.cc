// Global functions: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
#include <algorithm>
#include <ctime>

#include "chat/convert.h"
#include "chat/native.h"

namespace brio::chat {
namespace {

constexpr int64_t kMostOfRange = 100'000;  // as jinja2's sandbox

Result<Value> range(Interpreter& in, const Value&, const Arguments& arguments) {
  if (!arguments.named.empty() || arguments.positional.empty() || arguments.positional.size() > 3) {
    return render_error("range takes one to three integers");
  }
  int64_t bounds[3] = {0, 0, 1};
  const bool only_stop = arguments.positional.size() == 1;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    BRIO_TRY(bounds[only_stop ? 1 : i], to_index(arguments.positional[i], "an argument of range"));
  }
  const auto [start, stop, step] = bounds;
  if (step == 0) return render_error("the step of range is zero");
  const bool empty = step > 0 ? start >= stop : start <= stop;
  // Differences as unsigned: they may not fit 64 bits with a sign.
  const uint64_t span = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t count = empty ? 0 : (span - 1) / stride + 1;
  if (count > kMostOfRange) return render_error("range has {} items, the most is {}", count, kMostOfRange);
  std::vector<Value> items;
  items.reserve(count);
  int64_t item = start;
  for (uint64_t i = 0; i < count; ++i) {
    items.push_back(Value::integer(item));
    if (i + 1 < count) item += step;
  }
  return Value::list(in.budget(), std::move(items), ListForm::kRange);
}

// dict(mapping or pairs, name=value...)
Result<Dict> dict_of(Interpreter& in, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) return render_error("at most one positional argument is allowed here");
  if (!arguments.positional.empty() && arguments.positional[0].is_dict()) {
    dict = arguments.positional[0].dict();
  } else if (!arguments.positional.empty()) {
    BRIO_TRY(const Value list, as_list(in.budget(), arguments.positional[0]));
    for (const Value& item : list.items()) {
      BRIO_TRY(const Value pair, as_list(in.budget(), item));
      if (pair.items().size() != 2) return render_error("a dictionary is made of pairs");
      BRIO_TRY_OK(dict.set(pair.items()[0], pair.items()[1]));
    }
  }
  for (const auto& [name, value] : arguments.named) {
    BRIO_TRY(Value key, Value::string(in.budget(), name, true));
    BRIO_TRY_OK(dict.set(std::move(key), value));
  }
  return dict;
}

Result<Value> make_dict(Interpreter& in, const Value&, const Arguments& arguments) {
  BRIO_TRY(Dict dict, dict_of(in, arguments));
  return Value::dict(in.budget(), std::move(dict));
}

Result<Value> make_namespace(Interpreter& in, const Value&, const Arguments& arguments) {
  BRIO_TRY(Dict dict, dict_of(in, arguments));
  return in.make_namespace(std::move(dict));
}

// A fresh object around values: as deep as a list of them, so as limited.
Result<Value> limited_object(Interpreter& in, std::shared_ptr<Object> object) {
  if (object->depth() > in.budget().limits().max_depth) return in.budget().too_deep();
  return Value::object(std::move(object));
}

// cycler(a, b): next() gives a, b, a, ...
class Cycler final : public Object {
 public:
  Cycler(Value items) : items_(std::move(items)) {}  // NOLINT(google-explicit-constructor)
  std::string type_name() const override { return "Cycler"; }
  int depth() const override { return items_.depth() + 1; }
  std::optional<Value> attribute(std::string_view name) override;
  const Value& current() const { return items_.items()[at_]; }
  void step() { at_ = (at_ + 1) % items_.items().size(); }
  void reset() { at_ = 0; }

 private:
  Value items_;
  size_t at_ = 0;
};

Cycler& cycler_of(const Value& self) {
  return static_cast<Cycler&>(self.object());
}

Result<Value> cycler_next(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  const Value item = cycler_of(self).current();
  cycler_of(self).step();
  return item;
}

Result<Value> cycler_reset(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  cycler_of(self).reset();
  return Value::none();
}

constexpr NativeEntry kNext = {"next", cycler_next};
constexpr NativeEntry kReset = {"reset", cycler_reset};

std::optional<Value> Cycler::attribute(std::string_view name) {
  if (name == "current") return current();
  if (name == "next") return NativeFunction::bind(kNext, Value::object(shared_from_this()));
  if (name == "reset") return NativeFunction::bind(kReset, Value::object(shared_from_this()));
  return std::nullopt;
}

Result<Value> make_cycler(Interpreter& in, const Value&, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) return render_error("cycler needs items");
  BRIO_TRY(Value items, Value::list(in.budget(), arguments.positional, ListForm::kTuple));
  return limited_object(in, std::make_shared<Cycler>(std::move(items)));
}

// joiner(separator): nothing on the first call, the separator on every other.
class Joiner final : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string type_name() const override { return "Joiner"; }
  bool callable() const override { return true; }
  int depth() const override { return separator_.depth() + 1; }
  Result<Value> call(Interpreter&, const Arguments& arguments) override {
    BRIO_TRY_OK(Bound::bind(arguments, {}));
    return std::exchange(used_, true) ? separator_ : Value::literal("");
  }

 private:
  Value separator_;
  bool used_ = false;
};

Result<Value> make_joiner(Interpreter& in, const Value&, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"sep"}));
  return limited_object(in, std::make_shared<Joiner>(bound[0] == nullptr ? Value::literal(", ") : *bound[0]));
}

Result<Value> raise_exception(Interpreter& in, const Value&, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"message"}, 1));
  BRIO_TRY(const Text message, to_text(in.budget(), *bound[0]));
  constexpr size_t kMost = 2000;  // goes into an error response
  size_t end = std::min(message.size(), kMost);
  while (end < message.size() && (static_cast<unsigned char>(message.bytes()[end]) & 0xC0) == 0x80) --end;
  return in.raise(message.bytes().substr(0, end));
}

// One directive at a time, so that no format can ask the C library for more than a buffer holds.
std::string format_time(std::string_view format, const std::tm& time) {
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    size_t end = at + 1;
    while (end < format.size() && std::string_view("-_0^#").find(format[end]) != std::string_view::npos) ++end;
    const bool directive = end < format.size() && std::isalpha(static_cast<unsigned char>(format[end])) != 0;
    const bool percent = end < format.size() && format[end] == '%';
    if (!directive && !percent) {
      out += format[at++];
      continue;
    }
    const std::string one(format.substr(at, end + 1 - at));
    char buffer[128];
    out.append(buffer, std::strftime(buffer, sizeof buffer, one.c_str(), &time));
    at = end + 1;
  }
  return out;
}

Result<Value> strftime_now(Interpreter& in, const Value&, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"format"}, 1));
  BRIO_TRY(const Text* format, bound.text(0));
  constexpr size_t kMostBytes = 1000;
  if (format->size() > kMostBytes) return render_error("the format of strftime_now is longer than {}", kMostBytes);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(in.now());
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return render_error("strftime_now: the time has no date");
  const bool trusted = std::ranges::all_of(format->runs(), &Text::Run::trusted);
  return Value::string(in.budget(), format_time(format->bytes(), local), trusted);
}

constexpr NativeEntry kGlobals[] = {
    {"cycler", make_cycler},
    {"dict", make_dict},
    {"joiner", make_joiner},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"range", range},
    {"strftime_now", strftime_now},
};

}  // namespace

const NativeEntry* find_global(std::string_view name) {
  const auto* found = std::ranges::lower_bound(kGlobals, name, {}, &NativeEntry::name);
  return found != std::end(kGlobals) && found->name == name ? found : nullptr;
}

}  // namespace brio::chat
