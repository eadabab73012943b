// Filters on numbers.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "chat/convert.h"
#include "chat/filters.h"
#include "chat/operators.h"
#include "chat/unicode.h"

namespace brio::chat::filters {
namespace {

constexpr size_t kMostDigits = 400;  // longer texts are no number: a double needs 309 digits

// The number without surrounding white space and with single underscores between digits taken out; nothing if it is not
// plain enough to be a number.
std::optional<std::string> number_spelling(std::string_view text) {
  while (!text.empty() && is_space(character_at(text, 0))) text.remove_prefix(character_bytes(text, 0));
  while (!text.empty() && is_space(character_at(text, character_start(text, text.size())))) {
    text = text.substr(0, character_start(text, text.size()));
  }
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  std::string spelling;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      spelling += text[i];
      continue;
    }
    const bool between = i > 0 && i + 1 < text.size() && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 &&
                         std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0;
    if (!between) return std::nullopt;
  }
  return spelling;
}

std::optional<double> parse_float(std::string_view text) {
  const std::optional<std::string> spelling = number_spelling(text);
  if (!spelling || spelling->find_first_of("xXpP(") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(spelling->c_str(), &end);
  if (end != spelling->c_str() + spelling->size()) return std::nullopt;
  return number;
}

enum class Parsed { kNumber, kNone, kTooLarge };
Parsed parse_integer(std::string_view text, int64_t base, int64_t& number) {
  std::optional<std::string> spelling = number_spelling(text);
  if (!spelling) return Parsed::kNone;
  std::string_view digits = *spelling;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.size() > 2 && digits[0] == '0') {
    const char prefix = static_cast<char>(digits[1] | 0x20);
    const int64_t of_prefix = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
    if (of_prefix != 0 && (base == of_prefix || base == 0)) {
      base = of_prefix;
      digits.remove_prefix(2);
    }
  }
  const std::string signed_digits = (negative ? "-" : "") + std::string(digits);
  if (digits.empty() || digits[0] == '-') return Parsed::kNone;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto parsed = std::from_chars(signed_digits.data(), end, number, static_cast<int>(base == 0 ? 10 : base));
  if (parsed.ptr != end) return Parsed::kNone;
  return parsed.ec == std::errc() ? Parsed::kNumber : Parsed::kTooLarge;
}

Result<Value> truncated(double number, bool trusted) {
  if (!(std::abs(number) < 9.2e18)) return render_error("the number {} does not fit 64 bits", float_repr(number));
  return Value::integer(static_cast<int64_t>(number), trusted);
}

Result<Value> round_integer(int64_t number, int64_t precision, bool trusted) {
  if (precision >= 0) return Value::integer(number, trusted);
  if (precision < -18) return Value::integer(0, trusted);
  int64_t unit = 1;
  for (int64_t i = precision; i < 0; ++i) unit *= 10;
  int64_t remainder = number % unit;
  int64_t low = number - remainder;
  if (remainder < 0) {
    remainder += unit;
    if (__builtin_sub_overflow(low, unit, &low)) return render_error("an integer does not fit 64 bits");
  }
  const bool up = remainder * 2 > unit || (remainder * 2 == unit && (low / unit) % 2 != 0);  // half to even
  if (up && __builtin_add_overflow(low, unit, &low)) return render_error("an integer does not fit 64 bits");
  return Value::integer(low, trusted);
}

double round_real(double number, int64_t precision) {
  if (!std::isfinite(number) || precision > 300) return number;
  if (precision < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return std::isfinite(unit) ? std::nearbyint(number / unit) * unit : 0.0;
  }
  // Decimal digits of the exact binary value, half to even, as CPython rounds.
  return std::strtod(fmt::format("{:.{}f}", number, precision).c_str(), nullptr);
}

}  // namespace

Result<Value> abs(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  if (self.is_undefined()) return undefined_error(self);
  if (!self.is_number()) return render_error("abs needs a number, not a {}", self.type_name());
  if (self.is(Kind::kFloat)) return Value::real(std::abs(self.real()), self.trusted());
  return self.integer() < 0 ? unary(UnaryOp::kMinus, self) : Value::integer(self.integer(), self.trusted());
}

Result<Value> round(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"precision", "method"}));
  BRIO_TRY(const int64_t precision, bound.integer(0, 0));
  static const Text kCommon("common", true);
  BRIO_TRY(const Text* method, bound.text(1, &kCommon));
  if (self.is_undefined()) return undefined_error(self);
  if (!self.is_number()) return render_error("round needs a number, not a {}", self.type_name());
  if (method->bytes() == "common") {
    if (self.is_integral()) return round_integer(self.integer(), precision, self.trusted());
    return Value::real(round_real(self.real(), precision), self.trusted());
  }
  const bool up = method->bytes() == "ceil";
  if (!up && method->bytes() != "floor") return render_error("round takes the methods common, ceil and floor");
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = self.real() * unit;
  if (!std::isfinite(scaled) || unit == 0) return render_error("round: the number is out of range");
  return Value::real((up ? std::ceil(scaled) : std::floor(scaled)) / unit, self.trusted());
}

Result<Value> to_int(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"default", "base"}));
  BRIO_TRY(const int64_t base, bound.integer(1, 10));
  if (base != 0 && (base < 2 || base > 36)) return render_error("int takes a base of 0 or 2 to 36");
  const Value otherwise = bound[0] == nullptr ? Value::integer(0) : *bound[0];
  if (self.is_undefined()) return undefined_error(self);
  if (self.is_integral()) return Value::integer(self.integer(), self.trusted());
  if (self.is(Kind::kFloat)) return std::isnan(self.real()) ? otherwise : truncated(self.real(), self.trusted());
  if (!self.is_string()) return otherwise;
  int64_t number = 0;
  const Parsed parsed = parse_integer(self.bytes(), base, number);
  if (parsed == Parsed::kNumber) return Value::integer(number, false);
  if (parsed == Parsed::kTooLarge) return render_error("the number '{}' does not fit 64 bits", shown(self.bytes()));
  const std::optional<double> real = parse_float(self.bytes());
  if (!real || !std::isfinite(*real)) return otherwise;
  return truncated(*real, false);
}

Result<Value> to_float(Interpreter&, const Value& self, const Arguments& arguments) {
  BRIO_TRY(const Bound bound, Bound::bind(arguments, {"default"}));
  if (self.is_undefined()) return undefined_error(self);
  if (self.is_number()) return Value::real(self.real(), self.trusted());
  const std::optional<double> number = self.is_string() ? parse_float(self.bytes()) : std::nullopt;
  if (number) return Value::real(*number, false);
  return bound[0] == nullptr ? Value::real(0.0) : *bound[0];
}

}  // namespace brio::chat::filters
