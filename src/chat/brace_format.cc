#include "chat/brace_format.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "chat/convert.h"
#include "chat/format_spec.h"
#include "chat/lookup.h"
#include "chat/unicode.h"

namespace brio::chat {
namespace {

// "[[fill]align][sign][#][0][width][grouping][.precision][type]"
Result<FormatSpec> parse_spec(std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  const auto here = [&](std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos;
  };
  if (!text.empty()) {
    const size_t first = character_bytes(text, 0);
    if (first < text.size() && std::strchr("<>^=", text[first]) != nullptr) {
      spec.fill = text.substr(0, first);
      spec.align = text[first];
      at = first + 1;
    } else if (here("<>^=")) {
      spec.align = text[at++];
    }
  }
  if (here("+- ")) spec.sign = text[at++];
  if (here("#")) {
    spec.alternate = true;
    ++at;
  }
  if (here("0")) {
    ++at;
    if (spec.align == '\0') {
      spec.align = '=';
      spec.fill = "0";
    }
  }
  BRIO_TRY(spec.width, parse_size(text, at));
  if (here(",_")) spec.grouping = text[at++];
  if (here(".")) {
    ++at;
    BRIO_TRY(spec.precision, parse_size(text, at));
  }
  if (at < text.size()) spec.type = text[at++];
  const bool known = spec.type == '\0' || std::strchr("sdfFeEgGxXobnc%", spec.type) != nullptr;
  if (at < text.size() || !known) return render_error("'{}' is no format", shown(text));
  if (spec.type == 'n') spec.type = '\0';
  return spec;
}

class BraceFormat {
 public:
  BraceFormat(Interpreter& in, const Text& format, const Arguments& arguments)
      : in_(in), text_(format), format_(format.bytes()), arguments_(arguments), out_(in.budget()) {}

  Result<Value> run() {
    while (at_ < format_.size() && !out_.full()) {
      const size_t brace = std::min(format_.find_first_of("{}", at_), format_.size());
      out_.append(text_, at_, brace);
      at_ = brace;
      if (at_ >= format_.size()) break;
      if (at_ + 1 < format_.size() && format_[at_ + 1] == format_[at_]) {
        out_.append(text_, at_, at_ + 1);
        at_ += 2;
      } else if (format_[at_] == '}') {
        return render_error("a single '}}' in a format string");
      } else {
        BRIO_TRY_OK(field());
      }
    }
    return out_.finish_value();
  }

 private:
  // "{name!r:spec}" at at_.
  Result<void> field() {
    const size_t close = format_.find('}', at_);
    if (close == std::string_view::npos) return render_error("a '{{' of the format string is never closed");
    std::string_view inner = format_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    if (inner.find('{') != std::string_view::npos) return render_error("a nested field in a format string");
    const size_t colon = inner.find(':');
    BRIO_TRY(const FormatSpec spec, parse_spec(colon == std::string_view::npos ? "" : inner.substr(colon + 1)));
    inner = inner.substr(0, colon);
    char conversion = '\0';
    if (inner.size() >= 2 && inner[inner.size() - 2] == '!') {
      conversion = inner.back();
      inner.remove_suffix(2);
    }
    BRIO_TRY(const Value value, lookup(inner));
    return write(value, conversion, spec);
  }

  Result<Value> lookup(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    BRIO_TRY(Value value, argument(path.substr(0, end)));
    path = path.substr(end);
    while (!path.empty()) {
      const bool bracket = path.front() == '[';
      const size_t stop = bracket ? path.find(']') : std::min(path.find_first_of(".[", 1), path.size());
      if (stop == std::string_view::npos) return render_error("a '[' of the format string is never closed");
      const std::string_view key = path.substr(1, stop - 1);
      if (bracket) {
        BRIO_TRY(value, item(value, key));
      } else {
        BRIO_TRY(value, attribute_of(in_, value, key));
      }
      path = path.substr(bracket ? stop + 1 : stop);
    }
    return value;
  }

  Result<Value> item(const Value& value, std::string_view key) {
    int64_t index = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), index);
    if (!key.empty() && parsed.ptr == key.data() + key.size()) return item_of(in_, value, Value::integer(index));
    BRIO_TRY(const Value name, Value::string(in_.budget(), key, false));
    return item_of(in_, value, name);
  }

  Result<Value> argument(std::string_view name) {
    size_t index = next_;
    if (name.empty()) {
      ++next_;
    } else {
      const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
      if (parsed.ptr != name.data() + name.size()) {
        const auto found = std::ranges::find(arguments_.named, name, &std::pair<std::string, Value>::first);
        if (found == arguments_.named.end()) return render_error("format() has no argument '{}'", shown(name));
        return found->second;
      }
    }
    if (index >= arguments_.positional.size()) return render_error("format() has no argument {}", index);
    return arguments_.positional[index];
  }

  Result<void> write(const Value& value, char conversion, const FormatSpec& spec) {
    if (conversion != '\0' && conversion != 's' && conversion != 'r') return render_error("an unknown conversion");
    if (conversion == '\0' && value.is_number() && spec.type != 's' && !(value.is(Kind::kBool) && spec.type == '\0')) {
      return format_number(out_, value, spec);
    }
    if (spec.type != '\0' && spec.type != 's') return render_error("this format needs a number");
    TextBuilder text(in_.budget());
    BRIO_TRY_OK(conversion == 'r' ? print_repr(text, value, in_.budget()) : print(text, value, in_.budget()));
    BRIO_TRY(const Text printed, text.finish());
    return format_text(out_, printed, spec);
  }

  Interpreter& in_;
  const Text& text_;
  std::string_view format_;
  const Arguments& arguments_;
  TextBuilder out_;
  size_t at_ = 0;
  size_t next_ = 0;
};

}  // namespace

Result<Value> brace_format(Interpreter& in, const Text& format, const Arguments& arguments) {
  return BraceFormat(in, format, arguments).run();
}

}  // namespace brio::chat
