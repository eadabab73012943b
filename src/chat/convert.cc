#include "chat/convert.h"

#include <cmath>

#include "chat/unicode.h"

namespace brio::chat {
namespace {

void print_character_escaped(TextBuilder& out, std::string_view character, char32_t c, char quote, bool trusted) {
  if (c == '\n') return out.append("\\n", trusted);
  if (c == '\r') return out.append("\\r", trusted);
  if (c == '\t') return out.append("\\t", trusted);
  if (c == '\\') return out.append("\\\\", trusted);
  if (c == static_cast<char32_t>(quote)) {
    out.append("\\", trusted);
    return out.append(character, trusted);
  }
  if (is_printable(c)) return out.append(character, trusted);
  const auto code = static_cast<uint32_t>(c);
  if (code < 0x100) return out.append(fmt::format("\\x{:02x}", code), trusted);
  out.append(code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code), trusted);
}

void print_string_repr(TextBuilder& out, const Text& text) {
  const std::string& bytes = text.bytes();
  const bool single = bytes.find('\'') != std::string::npos;
  const char quote = single && bytes.find('"') == std::string::npos ? '"' : '\'';
  const std::string_view mark(&quote, 1);
  out.append(mark, false);
  size_t at = 0;
  for (const Text::Run& run : text.runs()) {
    while (at < run.end && !out.full()) {
      const size_t bytes_here = character_bytes(bytes, at);
      print_character_escaped(out, std::string_view(bytes).substr(at, bytes_here), character_at(bytes, at), quote,
                              run.trusted);
      at += bytes_here;
    }
  }
  out.append(mark, false);
}

Result<void> print_items(TextBuilder& out, const std::vector<Value>& items, Budget& budget) {
  for (size_t i = 0; i < items.size() && !out.full(); ++i) {
    if (i > 0) out.append(", ", false);
    BRIO_TRY_OK(print_repr(out, items[i], budget));
  }
  return {};
}

Result<void> print_list(TextBuilder& out, const ListCell& list, Budget& budget) {
  const auto bracketed = [&](std::string_view open, std::string_view close) -> Result<void> {
    out.append(open, false);
    BRIO_TRY_OK(print_items(out, list.items, budget));
    out.append(close, false);
    return {};
  };
  switch (list.form) {
    case ListForm::kList:
      return bracketed("[", "]");
    case ListForm::kTuple:
    case ListForm::kGroup:
      return bracketed("(", list.items.size() == 1 ? ",)" : ")");
    case ListForm::kView:
      return bracketed("dict_view([", "])");
    case ListForm::kGenerator:
      out.append("<generator object>", false);
      return {};
    case ListForm::kRange: {
      const int64_t first = list.items.empty() ? 0 : list.items.front().integer();
      const int64_t step = list.items.size() < 2 ? 1 : list.items[1].integer() - first;
      const int64_t stop = list.items.empty() ? 0 : list.items.back().integer() + step;
      out.append(
          step == 1 ? fmt::format("range({}, {})", first, stop) : fmt::format("range({}, {}, {})", first, stop, step),
          true);
    }
  }
  return {};
}

Result<void> print_dict(TextBuilder& out, const Dict& dict, Budget& budget) {
  out.append("{", false);
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (out.full()) break;
    if (!first) out.append(", ", false);
    first = false;
    BRIO_TRY_OK(print_repr(out, key, budget));
    out.append(": ", false);
    BRIO_TRY_OK(print_repr(out, value, budget));
  }
  out.append("}", false);
  return {};
}

}  // namespace

std::string float_repr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string digits = fmt::format("{}", number);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits;
}

Result<void> print(TextBuilder& out, const Value& value, Budget& budget) {
  if (value.is_string()) {
    out.append(value.text());
    return {};
  }
  if (value.is_undefined()) return {};
  return print_repr(out, value, budget);
}

Result<void> print_repr(TextBuilder& out, const Value& value, Budget& budget) {
  BRIO_TRY_OK(budget.spend(1));
  switch (value.kind()) {
    case Kind::kUndefined:
      out.append("Undefined", false);
      break;
    case Kind::kNone:
      out.append("None", value.trusted());
      break;
    case Kind::kBool:
      out.append(value.boolean() ? "True" : "False", value.trusted());
      break;
    case Kind::kInt:
      out.append(std::to_string(value.integer()), value.trusted());
      break;
    case Kind::kFloat:
      out.append(float_repr(value.real()), value.trusted());
      break;
    case Kind::kString:
      print_string_repr(out, value.text());
      break;
    case Kind::kList:
      return print_list(out, value.list(), budget);
    case Kind::kDict:
      return print_dict(out, value.dict(), budget);
    case Kind::kObject:
      out.append("<" + value.object().type_name() + ">", false);
      break;
  }
  return {};
}

Result<Text> to_text(Budget& budget, const Value& value) {
  if (value.is_string()) return value.text();
  TextBuilder out(budget);
  BRIO_TRY_OK(print(out, value, budget));
  return out.finish();
}

Result<Value> to_string(Budget& budget, const Value& value) {
  if (value.is_string()) return value;
  TextBuilder out(budget);
  BRIO_TRY_OK(print(out, value, budget));
  return out.finish_value();
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.real() != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kList:
      return value.is_form(ListForm::kGenerator) || !value.items().empty();
    case Kind::kDict:
      return value.dict().size() > 0;
    case Kind::kObject:
      return true;
  }
  return false;
}

Result<int64_t> length(Budget& budget, const Value& value) {
  if (value.is_undefined()) return int64_t{0};
  if (value.is_dict()) return static_cast<int64_t>(value.dict().size());
  if (value.is_list() && !value.is_form(ListForm::kGenerator)) return static_cast<int64_t>(value.items().size());
  if (value.is_string()) {
    if (!value.text().ascii()) BRIO_TRY_OK(budget.spend_bytes(value.text().size()));
    return static_cast<int64_t>(value.text().length());
  }
  return render_error("a {} has no length", value.type_name());
}

Result<Value> as_list(Budget& budget, const Value& value) {
  std::vector<Value> items;
  if (value.is_list()) {
    if (!value.is_form(ListForm::kGenerator)) return value;
    const ListCell& generator = value.list();
    items.assign(generator.items.begin() + static_cast<std::ptrdiff_t>(generator.consumed), generator.items.end());
    generator.consumed = generator.items.size();
  } else if (value.is_dict()) {
    for (const auto& entry : value.dict().entries()) items.push_back(entry.first);
  } else if (value.is_string()) {
    const Text& text = value.text();
    for (size_t at = 0; at < text.size();) {
      const size_t end = at + character_bytes(text.bytes(), at);
      BRIO_TRY(Value character, Value::string(budget, text.slice(at, end)));
      items.push_back(std::move(character));
      at = end;
    }
  } else if (!value.is_undefined()) {
    return render_error("a {} cannot be iterated over", value.type_name());
  }
  return Value::list(budget, std::move(items));
}

Error undefined_error(const Value& value) {
  return render_error("{}", value.undefined_why());
}

Result<int64_t> to_index(const Value& value, std::string_view what) {
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_integral()) return render_error("{} must be an integer, not a {}", what, value.type_name());
  return value.integer();
}

Result<const Text*> to_text_argument(const Value& value, std::string_view what) {
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_string()) return render_error("{} must be a string, not a {}", what, value.type_name());
  return &value.text();
}

std::string shown(std::string_view name) {
  constexpr size_t kMost = 60;
  if (name.size() <= kMost) return std::string(name);
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return std::string(name.substr(0, end)) + "...";
}

}  // namespace brio::chat
