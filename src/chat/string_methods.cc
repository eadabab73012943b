// Methods of strings, as in Python.
#include <algorithm>
#include <array>

#include "chat/brace_format.h"
#include "chat/convert.h"
#include "chat/native.h"
#include "chat/search.h"
#include "chat/text_functions.h"

namespace brio::chat {
namespace {

template <Case to>
Result<Value> in_case(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  return change_case(in.budget(), self.text(), to);
}

Result<Value> capitalize(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  return capitalized(in.budget(), self.text());
}

Result<Value> title(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  return titled(in.budget(), self.text());
}

template <Side side>
Result<Value> strip(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"chars"}));
  if (bound[0] == nullptr || bound[0]->is_none()) return stripped(in.budget(), self.text(), nullptr, side);
  BRIO_TRY(const Text* chars, bound.text(0));
  return stripped(in.budget(), self.text(), chars, side);
}

template <Side side>
Result<Value> split(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"sep", "maxsplit"}));
  const Text* separator = nullptr;
  if (bound[0] != nullptr && !bound[0]->is_none()) {
    BRIO_TRY(separator, bound.text(0));
  }
  BRIO_TRY(const int64_t most, bound.integer(1, -1));
  if (side == Side::kRight) return split_right(in.budget(), self.text(), separator, most);
  return split_left(in.budget(), self.text(), separator, most);
}

Result<Value> splitlines(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"keepends"}));
  const LineEnds ends = bound.flag(0, false) ? LineEnds::kKeep : LineEnds::kDrop;
  BRIO_TRY(const Lines lines, split_lines(in.budget(), self.text(), ends));
  std::vector<Value> values;
  for (const LineRange& line : lines.ranges) {
    BRIO_TRY(Value value, Value::string(in.budget(), self.text().slice(line.begin, line.end)));
    values.push_back(std::move(value));
  }
  return Value::list(in.budget(), std::move(values));
}

Result<Value> replace(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"old", "new", "count"}, 2));
  BRIO_TRY(const Text* from, bound.text(0));
  BRIO_TRY(const Text* to, bound.text(1));
  BRIO_TRY(const int64_t count, bound.integer(2, -1));
  return replaced(in.budget(), self.text(), *from, *to, count);
}

Result<Value> join(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"iterable"}, 1));
  BRIO_TRY(const Value parts, as_list(in.budget(), *bound[0]));
  for (const Value& part : parts.items()) {
    if (!part.is_string()) return render_error("join() takes strings, not a {}", part.type_name());
  }
  return joined(in.budget(), self.text(), parts.items());
}

// The part of a string that the optional character bounds start and end (arguments 1 and 2) leave, in bytes.
struct Window {
  bool valid;  // false: start lies behind the end
  size_t begin, end;
};

Result<Window> window_of(Interpreter& in, const Text& text, const Bound& bound) {
  const auto given = [&](size_t i) { return bound[i] != nullptr && !bound[i]->is_none(); };
  if (!given(1) && !given(2)) return Window{true, 0, text.size()};
  BRIO_TRY_OK(in.budget().spend_bytes(text.size() * 2));
  const auto size = static_cast<int64_t>(text.length());
  int64_t start = 0;
  int64_t end = size;
  if (given(1)) {
    BRIO_TRY(start, bound.integer(1, 0));
  }
  if (given(2)) {
    BRIO_TRY(end, bound.integer(2, size));
  }
  if (start < 0) start = std::max<int64_t>(start + size, 0);
  if (end < 0) end = std::max<int64_t>(end + size, 0);
  end = std::min(end, size);
  if (start > end) return Window{false, 0, 0};
  return Window{true, text.offset(static_cast<size_t>(start)), text.offset(static_cast<size_t>(end))};
}

// startswith and endswith: a string or a tuple of strings.
template <Side side>
Result<Value> has_affix(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"affix", "start", "end"}, 1));
  BRIO_TRY(const Window window, window_of(in, self.text(), bound));
  if (!window.valid) return Value::boolean(false);
  const std::string_view bytes = std::string_view(self.bytes()).substr(window.begin, window.end - window.begin);
  std::vector<Value> choices = {*bound[0]};
  if (bound[0]->is_form(ListForm::kTuple)) choices = bound[0]->items();
  for (const Value& choice : choices) {
    BRIO_TRY(const Text* affix, to_text_argument(choice, "the argument of startswith() or endswith()"));
    BRIO_TRY_OK(in.budget().spend_bytes(affix->size()));
    const bool has = side == Side::kLeft ? bytes.starts_with(affix->bytes()) : bytes.ends_with(affix->bytes());
    if (has) return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <Side side>
Result<Value> remove_affix(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"affix"}, 1));
  BRIO_TRY(const Text* affix, bound.text(0));
  const Text& text = self.text();
  if (side == Side::kLeft && text.bytes().starts_with(affix->bytes())) {
    return Value::string(in.budget(), text.slice(affix->size(), text.size()));
  }
  if (side == Side::kRight && text.bytes().ends_with(affix->bytes())) {
    return Value::string(in.budget(), text.slice(0, text.size() - affix->size()));
  }
  return self;
}

// The character index of a match between the optional bounds start and end, -1 if there is none.
Result<int64_t> position(Interpreter& in, const Value& self, const Arguments& arguments, Side from) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"sub", "start", "end"}, 1));
  BRIO_TRY(const Text* needle, bound.text(0));
  const Text& text = self.text();
  BRIO_TRY(const Window window, window_of(in, text, bound));
  if (!window.valid) return int64_t{-1};
  const std::string_view bytes = std::string_view(text.bytes()).substr(0, window.end);
  const size_t found = from == Side::kLeft ? find_bytes(bytes, needle->bytes(), window.begin)
                                           : find_last_bytes(bytes, needle->bytes(), window.end);
  if (found == std::string_view::npos || found < window.begin) return int64_t{-1};
  return static_cast<int64_t>(text.slice(0, found).length());
}

template <Side side>
Result<Value> find(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const int64_t index, position(in, self, arguments, side));
  return Value::integer(index);
}

template <Side side>
Result<Value> index(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const int64_t index, position(in, self, arguments, side));
  if (index < 0) return render_error("index(): the string does not contain that text");
  return Value::integer(index);
}

Result<Value> count(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"sub"}, 1));
  BRIO_TRY(const Text* needle, bound.text(0));
  BRIO_TRY_OK(in.budget().spend_bytes(self.text().size()));
  if (needle->empty()) return Value::integer(static_cast<int64_t>(self.text().length()) + 1);
  int64_t found = 0;
  for (size_t at = 0; (at = find_bytes(self.bytes(), needle->bytes(), at)) != std::string_view::npos; ++found) {
    at += needle->size();
  }
  return Value::integer(found);
}

// (before, separator, after) of the first or last match.
template <Side side>
Result<Value> partition(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"sep"}, 1));
  BRIO_TRY(const Text* separator, bound.text(0));
  if (separator->empty()) return render_error("partition() needs a separator that is not empty");
  const Text& text = self.text();
  const size_t found = side == Side::kLeft ? find_bytes(text.bytes(), separator->bytes(), 0)
                                           : find_last_bytes(text.bytes(), separator->bytes(), text.size());
  const bool none = found == std::string_view::npos;
  const size_t begin = !none ? found : side == Side::kLeft ? text.size() : 0;
  const size_t end = none ? begin : found + separator->size();
  BRIO_TRY(Value before, Value::string(in.budget(), text.slice(0, begin)));
  BRIO_TRY(Value middle, Value::string(in.budget(), text.slice(begin, end)));
  BRIO_TRY(Value after, Value::string(in.budget(), text.slice(end, text.size())));
  return Value::list(in.budget(), {std::move(before), std::move(middle), std::move(after)}, ListForm::kTuple);
}

// ljust, rjust, center, zfill: `align` as in FormatSpec.
template <char align>
Result<Value> justify(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"width", "fillchar"}, 1));
  static const Text kSpace(" ", true);
  BRIO_TRY(const int64_t width, bound.integer(0, 0));
  BRIO_TRY(const Text* fill, bound.text(1, &kSpace));
  if (fill->length() != 1) return render_error("the fill of a justified string is one character");
  return padded(in.budget(), self.text(), width, *fill, align);
}

Result<Value> zfill(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"width"}, 1));
  BRIO_TRY(const int64_t width, bound.integer(0, 0));
  const Text& text = self.text();
  const bool sign = text.bytes().starts_with('-') || text.bytes().starts_with('+');
  TextBuilder out(in.budget());
  out.append(text, 0, sign ? 1 : 0);
  BRIO_TRY(const Value digits,
           padded(in.budget(), text.slice(sign ? 1 : 0, text.size()), width - (sign ? 1 : 0), Text("0", false), '>'));
  out.append(digits.text());
  return out.finish_value();
}

// Whether there are characters and all of them are of a kind.
template <bool (*is_kind)(char32_t)>
Result<Value> all_are(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY_OK(in.budget().spend_bytes(self.text().size()));
  const std::string& bytes = self.bytes();
  for (size_t at = 0; at < bytes.size(); at += character_bytes(bytes, at)) {
    if (!is_kind(character_at(bytes, at))) return Value::boolean(false);
  }
  return Value::boolean(!bytes.empty());
}

bool is_alphanumeric(char32_t c) {
  return is_letter(c) || is_numeric(c);
}

Result<Value> isascii(Interpreter&, const Value& self, const Arguments&) {
  return Value::boolean(self.text().ascii());
}

template <Case to>
Result<Value> is_in_case(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY_OK(in.budget().spend_bytes(self.text().size()));
  return Value::boolean(all_in_case(self.text(), to));
}

Result<Value> format(Interpreter& in, const Value& self, const Arguments& arguments) {
  return brace_format(in, self.text(), arguments);
}

constexpr NativeEntry kMethods[] = {
    {"capitalize", capitalize},
    {"casefold", in_case<Case::kLower>},
    {"center", justify<'^'>},
    {"count", count},
    {"endswith", has_affix<Side::kRight>},
    {"find", find<Side::kLeft>},
    {"format", format},
    {"index", index<Side::kLeft>},
    {"isalnum", all_are<is_alphanumeric>},
    {"isalpha", all_are<is_letter>},
    {"isascii", isascii},
    {"isdecimal", all_are<is_decimal>},
    {"isdigit", all_are<is_digit>},
    {"islower", is_in_case<Case::kLower>},
    {"isnumeric", all_are<is_numeric>},
    {"isspace", all_are<is_space>},
    {"isupper", is_in_case<Case::kUpper>},
    {"join", join},
    {"ljust", justify<'<'>},
    {"lower", in_case<Case::kLower>},
    {"lstrip", strip<Side::kLeft>},
    {"partition", partition<Side::kLeft>},
    {"removeprefix", remove_affix<Side::kLeft>},
    {"removesuffix", remove_affix<Side::kRight>},
    {"replace", replace},
    {"rfind", find<Side::kRight>},
    {"rindex", index<Side::kRight>},
    {"rjust", justify<'>'>},
    {"rpartition", partition<Side::kRight>},
    {"rsplit", split<Side::kRight>},
    {"rstrip", strip<Side::kRight>},
    {"split", split<Side::kLeft>},
    {"splitlines", splitlines},
    {"startswith", has_affix<Side::kLeft>},
    {"strip", strip<Side::kBoth>},
    {"title", title},
    {"upper", in_case<Case::kUpper>},
    {"zfill", zfill},
};

}  // namespace

const NativeEntry* find_string_method(std::string_view name) {
  const auto* found = std::ranges::lower_bound(kMethods, name, {}, &NativeEntry::name);
  return found != std::end(kMethods) && found->name == name ? found : nullptr;
}

}  // namespace brio::chat
