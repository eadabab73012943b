#include "chat/percent_format.h"

#include <cmath>
#include <cstring>

#include "chat/convert.h"
#include "chat/format_spec.h"
#include "chat/unicode.h"

namespace brio::chat {
namespace {

class PercentFormat {
 public:
  PercentFormat(Budget& budget, const Text& format, const Value& operand)
      : budget_(budget), text_(format), format_(format.bytes()), operand_(operand), out_(budget) {}

  Result<Value> run() {
    while (at_ < format_.size() && !out_.full()) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      out_.append(text_, at_, percent);
      at_ = percent;
      if (at_ < format_.size()) BRIO_TRY_OK(field());
    }
    if (out_.full()) return out_.finish_value();  // the error
    if (is_tuple() && next_ < operand_.items().size()) return render_error("more values than the format has fields");
    const bool subscriptable =
        operand_.is_list() || operand_.is_dict() || operand_.is_undefined();  // Python's odd rule
    if (!subscriptable && next_ == 0) {
      return render_error("the format has no field for its value");
    }
    return out_.finish_value();
  }

 private:
  bool is_tuple() const { return operand_.is_form(ListForm::kTuple) || operand_.is_form(ListForm::kGroup); }

  Result<Value> next() {
    if (is_tuple()) {
      if (next_ >= operand_.items().size()) return render_error("fewer values than the format has fields");
      return operand_.items()[next_++];
    }
    if (next_++ > 0) return render_error("fewer values than the format has fields");
    return operand_;
  }

  Result<Value> named() {
    const size_t close = format_.find(')', at_);
    if (close == std::string_view::npos) return render_error("a '%(' of the format is never closed");
    const std::string_view name = format_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    if (!operand_.is_dict()) return render_error("'%({})' needs a dictionary", shown(name));
    const Value* found = operand_.dict().find(name);
    if (found == nullptr) return render_error("the format has no value for '{}'", shown(name));
    return *found;
  }

  void flags(FormatSpec& spec) {
    spec.align = '>';
    for (; at_ < format_.size(); ++at_) {
      const char c = format_[at_];
      if (c == '-')
        spec.align = '<';
      else if (c == '0' && spec.align != '<') {
        spec.align = '=';
        spec.fill = "0";
      } else if (c == '+')
        spec.sign = '+';
      else if (c == ' ' && spec.sign != '+')
        spec.sign = ' ';
      else if (c == '#')
        spec.alternate = true;
      else if (c != '0' && c != ' ')
        return;
    }
  }

  Result<void> field() {
    ++at_;
    if (at_ < format_.size() && format_[at_] == '%') {
      out_.append(text_, at_, at_ + 1);
      ++at_;
      return {};
    }
    std::optional<Value> value;
    if (at_ < format_.size() && format_[at_] == '(') {
      BRIO_TRY(value, named());
    }
    FormatSpec spec;
    flags(spec);
    BRIO_TRY(spec.width, parse_size(format_, at_));
    if (at_ < format_.size() && format_[at_] == '.') {
      ++at_;
      BRIO_TRY(spec.precision, parse_size(format_, at_));
    }
    if (at_ >= format_.size()) return render_error("the format ends inside a field");
    spec.type = format_[at_++];
    if (!value) {
      BRIO_TRY(value, next());
    }
    return write(*value, spec);
  }

  Result<void> write(const Value& value, FormatSpec& spec) {
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') {
      TextBuilder text(budget_);
      BRIO_TRY_OK(spec.type == 's' ? print(text, value, budget_) : print_repr(text, value, budget_));
      BRIO_TRY(const Text printed, text.finish());
      if (spec.align == '=') {
        spec.align = '>';
        spec.fill = " ";
      }
      return format_text(out_, printed, spec);
    }
    if (spec.type == 'c') return write_character(value, spec);
    if (std::strchr("diuxXoeEfFgG", spec.type) == nullptr)
      return render_error("a format field ends in an unknown letter");
    if (std::strchr("diu", spec.type) != nullptr && value.is(Kind::kFloat)) {
      const double number = std::trunc(value.real());
      if (!(std::abs(number) < 9.2e18)) return render_error("'%{}' cannot print this number", spec.type);
      return format_number(out_, Value::integer(static_cast<int64_t>(number), value.trusted()), spec);
    }
    return format_number(out_, value, spec);
  }

  Result<void> write_character(const Value& value, FormatSpec& spec) {
    if (value.is_string() && value.text().length() == 1) return format_text(out_, value.text(), spec);
    BRIO_TRY(const int64_t code, to_index(value, "'%c'"));
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
      return render_error("'%c' has no such character");
    std::string character;
    append_character(character, static_cast<char32_t>(code));
    return format_text(out_, Text(character, false), spec);
  }

  Budget& budget_;
  const Text& text_;
  std::string_view format_;
  const Value& operand_;
  TextBuilder out_;
  size_t at_ = 0;
  size_t next_ = 0;
};

}  // namespace

Result<Value> percent_format(Budget& budget, const Text& format, const Value& operand) {
  return PercentFormat(budget, format, operand).run();
}

}  // namespace brio::chat
