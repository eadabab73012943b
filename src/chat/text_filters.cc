// Filters on text. What is not a string is printed first, as str() does.
#include <algorithm>

#include "chat/convert.h"
#include "chat/filters.h"
#include "chat/lookup.h"
#include "chat/percent_format.h"
#include "chat/search.h"
#include "chat/text_functions.h"

namespace brio::chat::filters {

Result<Value> upper(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  return change_case(in.budget(), text.text(), Case::kUpper);
}

Result<Value> lower(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  return change_case(in.budget(), text.text(), Case::kLower);
}

Result<Value> title(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  return titled_words(in.budget(), text.text());
}

Result<Value> capitalize(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  return capitalized(in.budget(), text.text());
}

Result<Value> trim(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"chars"}));
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  if (bound[0] == nullptr || bound[0]->is_none()) return stripped(in.budget(), text.text(), nullptr, Side::kBoth);
  BRIO_TRY(const Text* chars, bound.text(0));
  return stripped(in.budget(), text.text(), chars, Side::kBoth);
}

Result<Value> replace(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"old", "new", "count"}, 2));
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  BRIO_TRY(const Value from, to_string(in.budget(), *bound[0]));
  BRIO_TRY(const Value to, to_string(in.budget(), *bound[1]));
  int64_t count = -1;
  if (bound[2] != nullptr && !bound[2]->is_none()) {
    BRIO_TRY(count, bound.integer(2, -1));
  }
  return replaced(in.budget(), text.text(), from.text(), to.text(), count);
}

Result<Value> string(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  return to_string(in.budget(), self);
}

Result<Value> safe(Interpreter& in, const Value& self, const Arguments& arguments) {
  return string(in, self, arguments);
}

Result<Value> indent(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"width", "first", "blank"}));
  BRIO_TRY(const Text* source, to_text_argument(self, "the text to indent"));
  Text prefix;
  if (bound[0] != nullptr && bound[0]->is_string()) {
    prefix = bound[0]->text();
  } else {
    BRIO_TRY(const int64_t width, bound.integer(0, 4));
    if (width > 10'000) return render_error("an indent of {} is too large", width);
    prefix = Text(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), true);
  }
  Text text = *source;
  text.append("\n", true);  // so that a final newline counts as the end of a line, as in jinja2
  BRIO_TRY(const Lines lines, split_lines(in.budget(), text, LineEnds::kDrop));
  const bool blank = bound.flag(2, false);
  TextBuilder out(in.budget());
  if (bound.flag(1, false)) out.append(prefix);
  for (size_t i = 0; i < lines.ranges.size() && !out.full(); ++i) {
    const LineRange line = lines.ranges[i];
    if (i > 0) out.append("\n", true);
    if (i > 0 && (blank || line.begin < line.end)) out.append(prefix);
    out.append(text, line.begin, line.end);
  }
  return out.finish_value();
}

Result<Value> center(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"width"}));
  BRIO_TRY(const int64_t width, bound.integer(0, 80));
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  return padded(in.budget(), text.text(), width, Text(" ", true), '^');
}

Result<Value> truncate(Interpreter& in, const Value& self, const Arguments& arguments) {
  static const Text kEllipsis("...", true);
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"length", "killwords", "end", "leeway"}));
  BRIO_TRY(const Text* text, to_text_argument(self, "the text to truncate"));
  BRIO_TRY(const int64_t most, bound.integer(0, 255));
  BRIO_TRY(const Text* end, bound.text(2, &kEllipsis));
  int64_t leeway = 5;
  if (bound[3] != nullptr && !bound[3]->is_none()) {
    BRIO_TRY(leeway, bound.integer(3, 5));
  }
  const auto end_length = static_cast<int64_t>(end->length());
  if (most < end_length) return render_error("truncate() to {} leaves no room for the {} of its end", most, end_length);
  if (leeway < 0) return render_error("truncate() has a negative leeway");
  BRIO_TRY_OK(in.budget().spend_bytes(text->size() * 2));
  if (static_cast<int64_t>(text->length()) - leeway <= most) return self;
  size_t cut = text->offset(static_cast<size_t>(most - end_length));
  if (!bound.flag(1, false)) {
    const size_t space = text->bytes().rfind(' ', cut == 0 ? 0 : cut - 1);
    if (space < cut) cut = space;
  }
  TextBuilder out(in.budget());
  out.append(*text, 0, cut);
  out.append(*end);
  return out.finish_value();
}

Result<Value> wordcount(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  BRIO_TRY_OK(in.budget().spend_bytes(text.text().size() * 4));
  int64_t words = 0;
  bool in_word = false;
  const std::string& bytes = text.bytes();
  for (size_t at = 0; at < bytes.size(); at += character_bytes(bytes, at)) {
    const char32_t c = character_at(bytes, at);
    const bool part = is_letter(c) || is_numeric(c) || c == '_';
    if (part && !in_word) ++words;
    in_word = part;
  }
  return Value::integer(words);
}

Result<Value> format(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Value text, to_string(in.budget(), self));
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    return render_error("format takes positional or named arguments, not both");
  }
  if (arguments.named.empty()) {
    BRIO_TRY(const Value tuple, Value::list(in.budget(), arguments.positional, ListForm::kTuple));
    return percent_format(in.budget(), text.text(), tuple);
  }
  Dict dict;
  for (const auto& [name, value] : arguments.named) {
    BRIO_TRY(Value key, Value::string(in.budget(), name, false));
    BRIO_TRY_OK(dict.set(std::move(key), value));
  }
  BRIO_TRY(const Value values, Value::dict(in.budget(), std::move(dict)));
  return percent_format(in.budget(), text.text(), values);
}

Result<Value> join(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"d", "attribute"}));
  BRIO_TRY(Value parts, as_list(in.budget(), self));
  if (bound[1] != nullptr && !bound[1]->is_none()) {
    std::vector<Value> attributes;
    for (const Value& part : parts.items()) {
      BRIO_TRY(Value attribute, path_of(in, part, *bound[1]));
      attributes.push_back(std::move(attribute));
    }
    BRIO_TRY(parts, Value::list(in.budget(), std::move(attributes)));
  }
  BRIO_TRY(const Text separator, bound[0] == nullptr ? Result<Text>(Text()) : to_text(in.budget(), *bound[0]));
  return joined(in.budget(), separator, parts.items());
}

}  // namespace brio::chat::filters
