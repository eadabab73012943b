#include "chat/format_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "chat/convert.h"

namespace brio::chat {
namespace {

constexpr int64_t kMaxPrecision = 300;  // digits after the point: a double has none that matter beyond

void append_fill(TextBuilder& out, const FormatSpec& spec, int64_t count) {
  for (int64_t i = 0; i < count && !out.full(); ++i) out.append(spec.fill, false);
}

void group_digits(std::string& digits, char separator) {
  size_t whole = digits.find_first_not_of("0123456789");
  if (whole == std::string::npos) whole = digits.size();
  for (size_t at = whole; at > 3; at -= 3) digits.insert(at - 3, 1, separator);
}

Result<std::string> integer_digits(uint64_t magnitude, const FormatSpec& spec) {
  char buffer[64];
  const int base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, magnitude, base);
  std::string digits(buffer, written.ptr);
  if (spec.type == 'X') std::ranges::transform(digits, digits.begin(), [](char c) { return c >= 'a' ? c - 32 : c; });
  if (spec.precision > static_cast<int64_t>(digits.size())) {
    if (spec.precision > kMaxPrecision) return render_error("a precision of {} is too large", spec.precision);
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  }
  if (spec.grouping != '\0') group_digits(digits, spec.grouping);
  return digits;
}

Result<std::string> real_digits(double magnitude, const FormatSpec& spec) {
  if (spec.precision > kMaxPrecision) return render_error("a precision of {} is too large", spec.precision);
  if (std::isnan(magnitude) || std::isinf(magnitude)) {
    const bool upper = std::strchr("EFG", spec.type) != nullptr && spec.type != '\0';
    return std::string(std::isnan(magnitude) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf"));
  }
  if (spec.type == '\0' && spec.precision < 0) {
    std::string digits = float_repr(magnitude);
    if (spec.grouping != '\0') group_digits(digits, spec.grouping);
    return digits;
  }
  const char type = spec.type == '\0' ? 'g' : spec.type == '%' ? 'f' : spec.type;
  const char pattern[] = {'%', '.', '*', type, '\0'};
  char buffer[1024];  // 309 digits of the largest double and kMaxPrecision more
  if (spec.type == '%') magnitude *= 100;
  std::snprintf(buffer, sizeof buffer, pattern, static_cast<int>(spec.precision < 0 ? 6 : spec.precision), magnitude);
  std::string digits = buffer;
  if (spec.grouping != '\0') group_digits(digits, spec.grouping);
  if (spec.type == '%') digits += '%';
  return digits;
}

}  // namespace

Result<int64_t> parse_size(std::string_view text, size_t& at) {
  constexpr int64_t kMost = 1'000'000;
  int64_t size = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    size = size * 10 + (text[at++] - '0');
    if (size > kMost) return render_error("a width or precision of more than {} in a format", kMost);
  }
  return size;
}

Result<void> format_number(TextBuilder& out, const Value& value, const FormatSpec& spec) {
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_number()) return render_error("format '{}' needs a number, not a {}", spec.type, value.type_name());
  const bool integral_type = std::strchr("diuxXob", spec.type) != nullptr && spec.type != '\0';
  const bool as_integer = value.is_integral() && (integral_type || spec.type == '\0');
  std::string digits;
  bool negative = false;
  if (as_integer) {
    negative = value.integer() < 0;
    const auto bits = static_cast<uint64_t>(value.integer());
    BRIO_TRY(digits, integer_digits(negative ? 0 - bits : bits, spec));
  } else if (integral_type) {
    return render_error("format '{}' needs an integer", spec.type);
  } else {
    negative = std::signbit(value.real()) && !std::isnan(value.real());
    BRIO_TRY(digits, real_digits(std::abs(value.real()), spec));
  }
  std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.alternate && as_integer && spec.type != '\0' && std::strchr("xXob", spec.type) != nullptr) {
    sign += std::string("0") + spec.type;
  }
  const int64_t padding = spec.width - static_cast<int64_t>(sign.size() + digits.size());
  const char align = spec.align == '\0' ? '>' : spec.align;
  if (align == '>') append_fill(out, spec, padding);
  if (align == '^') append_fill(out, spec, padding / 2);
  out.append(sign, value.trusted());
  if (align == '=') append_fill(out, spec, padding);
  out.append(digits, value.trusted());
  if (align == '<') append_fill(out, spec, padding);
  if (align == '^') append_fill(out, spec, padding - padding / 2);
  return {};
}

Result<void> format_text(TextBuilder& out, const Text& text, const FormatSpec& spec) {
  size_t end = text.size();
  if (spec.precision >= 0) end = text.offset(static_cast<size_t>(spec.precision));
  int64_t padding = 0;
  if (spec.width > 0) padding = spec.width - static_cast<int64_t>(text.slice(0, end).length());
  const char align = spec.align == '\0' ? '<' : spec.align;
  if (align == '=') return render_error("alignment '=' needs a number");
  if (align == '>') append_fill(out, spec, padding);
  if (align == '^') append_fill(out, spec, padding / 2);
  out.append(text, 0, end);
  if (align == '<') append_fill(out, spec, padding);
  if (align == '^') append_fill(out, spec, padding - padding / 2);
  return {};
}

}  // namespace brio::chat
