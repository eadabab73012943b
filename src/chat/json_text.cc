#include "chat/json_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "chat/convert.h"
#include "chat/sorting.h"
#include "chat/unicode.h"

namespace brio::chat {
namespace {

struct Layout {
  bool ascii = false;
  bool sort_keys = false;
  std::optional<Text> indent;  // of one level; none: everything on one line
  Text item_separator{", ", false};
  Text key_separator{": ", false};
};

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const Layout& layout) : budget_(budget), layout_(layout), out_(budget) {}

  Result<Value> run(const Value& value) {
    BRIO_TRY_OK(write(value, 1));
    return out_.finish_value();
  }

 private:
  Result<void> write(const Value& value, int level) {
    BRIO_TRY_OK(budget_.spend(1));
    if (out_.full()) return {};
    switch (value.kind()) {
      case Kind::kNone:
        out_.append("null", value.trusted());
        return {};
      case Kind::kBool:
        out_.append(value.boolean() ? "true" : "false", value.trusted());
        return {};
      case Kind::kInt:
        out_.append(std::to_string(value.integer()), value.trusted());
        return {};
      case Kind::kFloat:
        out_.append(real(value.real()), value.trusted());
        return {};
      case Kind::kString:
        string(value.text());
        return {};
      case Kind::kDict:
        return dict(value.dict(), level);
      case Kind::kList:
        if (value.is_form(ListForm::kList) || value.is_form(ListForm::kTuple) || value.is_form(ListForm::kGroup)) {
          return list(value.items(), level);
        }
        break;
      default:
        break;
    }
    return render_error("tojson cannot write {} {}", value.is_undefined() ? "an undefined" : "a", value.type_name());
  }

  static std::string real(double number) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    return float_repr(number);
  }

  void new_line(int level) {
    if (!layout_.indent) return;
    out_.append("\n", false);
    for (int i = 0; i < level && !out_.full(); ++i) out_.append(*layout_.indent);
  }

  Result<void> list(const std::vector<Value>& items, int level) {
    out_.append("[", false);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.append(layout_.item_separator);
      new_line(level);
      BRIO_TRY_OK(write(items[i], level + 1));
    }
    if (!items.empty()) new_line(level - 1);
    out_.append("]", false);
    return {};
  }

  Result<void> dict(const Dict& dict, int level) {
    std::vector<Dict::Entry> entries = dict.entries();
    if (layout_.sort_keys) BRIO_TRY_OK(sort_values(budget_, entries, [](const Dict::Entry& e) { return e.first; }));
    out_.append("{", false);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.append(layout_.item_separator);
      new_line(level);
      BRIO_TRY_OK(key(entries[i].first));
      out_.append(layout_.key_separator);
      BRIO_TRY_OK(write(entries[i].second, level + 1));
    }
    if (!entries.empty()) new_line(level - 1);
    out_.append("}", false);
    return {};
  }

  Result<void> key(const Value& key) {
    if (key.is_string()) {
      string(key.text());
      return {};
    }
    out_.append("\"", false);
    BRIO_TRY_OK(write(key, 0));
    out_.append("\"", false);
    return {};
  }

  void string(const Text& text) {
    const std::string& bytes = text.bytes();
    out_.append("\"", false);
    size_t at = 0;
    for (const Text::Run& run : text.runs()) {
      size_t plain = at;  // bytes from here on need no escape
      while (at < run.end && !out_.full()) {
        const size_t size = character_bytes(bytes, at);
        const std::string escape = escaped(bytes, at);
        if (!escape.empty()) {
          out_.append(text, plain, at);
          out_.append(escape, run.trusted);
          plain = at + size;
        }
        at += size;
      }
      if (!out_.full()) out_.append(text, plain, at);
    }
    out_.append("\"", false);
  }

  // Empty if the character stands for itself.
  std::string escaped(const std::string& bytes, size_t at) const {
    const auto c = static_cast<unsigned char>(bytes[at]);
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\b':
        return "\\b";
      case '\f':
        return "\\f";
      default:
        break;
    }
    if (c < 0x20) return fmt::format("\\u{:04x}", c);
    if (!layout_.ascii || c < 0x7F) return {};
    const auto character = static_cast<uint32_t>(character_at(bytes, at));
    if (character < 0x10000) return fmt::format("\\u{:04x}", character);
    const uint32_t offset = character - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (offset >> 10), 0xDC00 + (offset & 0x3FF));
  }

  Budget& budget_;
  const Layout& layout_;
  TextBuilder out_;
};

Result<void> set_indent(const Value& value, Layout& layout) {
  if (value.is_none()) return {};
  if (value.is_string()) {
    layout.indent = value.text();
  } else {
    BRIO_TRY(const int64_t width, to_index(value, "indent"));
    if (width > 1000) return render_error("an indent of {} is too large", width);
    layout.indent = Text(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), true);
  }
  layout.item_separator = Text(",", false);
  return {};
}

Result<void> set_separators(Budget& budget, const Value& value, Layout& layout) {
  if (value.is_none()) return {};
  BRIO_TRY(const Value pair, as_list(budget, value));
  if (pair.items().size() != 2) return render_error("separators are a pair of strings");
  BRIO_TRY(const Text* item, to_text_argument(pair.items()[0], "separators[0]"));
  BRIO_TRY(const Text* key, to_text_argument(pair.items()[1], "separators[1]"));
  layout.item_separator = *item;
  layout.key_separator = *key;
  return {};
}

}  // namespace

Result<Value> to_json(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  Layout layout;
  layout.ascii = bound.flag(0, false);
  layout.sort_keys = bound.flag(3, false);
  if (bound[1] != nullptr) BRIO_TRY_OK(set_indent(*bound[1], layout));
  if (bound[2] != nullptr) BRIO_TRY_OK(set_separators(in.budget(), *bound[2], layout));
  return JsonWriter(in.budget(), layout).run(self);
}

}  // namespace brio::chat
