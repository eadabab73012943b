#include "grammar/schema_scalars.h"

#include <boost/json/array.hpp>
#include <cmath>
#include <limits>

#include "grammar/regex.h"
#include "grammar/schema_keywords.h"
#include "grammar/string_formats.h"
#include "tokenizer/utf8.h"

namespace brio::grammar {
namespace {

namespace json = boost::json;

constexpr double kMaxWhole = 9e18;  // within int64

// ---- numbers ----

struct Bounds {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

Result<void> read_bound(const json::object& schema, const char* keyword, const std::string& place, bool is_low,
                        bool exclusive, Bounds& out) {
  const json::value* value = schema.if_contains(keyword);
  if (!value) return {};
  int64_t bound = 0;
  if (value->is_int64()) {
    bound = value->get_int64();
    if (exclusive) {
      constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
      constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
      if (bound == (is_low ? kHighest : kLowest))
        return unsupported_schema(place, fmt::format("so large a '{}'", keyword));
      bound += is_low ? 1 : -1;
    }
  } else if (value->is_double()) {
    const double number = value->get_double();
    if (!(std::abs(number) < kMaxWhole)) return unsupported_schema(place, fmt::format("so large a '{}'", keyword));
    const double whole = is_low ? std::ceil(number) : std::floor(number);
    bound = static_cast<int64_t>(whole);
    if (exclusive && whole == number) bound += is_low ? 1 : -1;
  } else if (value->is_uint64()) {
    return unsupported_schema(place, fmt::format("so large a '{}'", keyword));
  } else {
    return invalid_keyword(place, keyword, "has to be a number");
  }
  if (is_low) {
    out.low = std::max(out.low.value_or(bound), bound);
  } else {
    out.high = std::min(out.high.value_or(bound), bound);
  }
  return {};
}

Result<Bounds> read_bounds(const json::object& schema, const std::string& place) {
  Bounds out;
  BRIO_TRY_OK(read_bound(schema, "minimum", place, true, false, out));
  BRIO_TRY_OK(read_bound(schema, "exclusiveMinimum", place, true, true, out));
  BRIO_TRY_OK(read_bound(schema, "maximum", place, false, false, out));
  BRIO_TRY_OK(read_bound(schema, "exclusiveMaximum", place, false, true, out));
  return out;
}

const char* bound_keyword(const json::object& schema) {
  for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    if (schema.contains(keyword)) return keyword;
  }
  return nullptr;
}

// ---- strings ----

struct Lengths {
  int64_t min = 0;
  int64_t max = -1;
  bool any() const { return min == 0 && max < 0; }
};

Result<Lengths> read_lengths(const json::object& schema, const std::string& place) {
  BRIO_TRY(const std::optional<int64_t> min, read_count(schema, "minLength", place));
  BRIO_TRY(const std::optional<int64_t> max, read_count(schema, "maxLength", place));
  return Lengths{min.value_or(0), max.value_or(-1)};
}

Result<std::string> read_text(const json::object& schema, const char* keyword, const std::string& place) {
  const json::value* value = schema.if_contains(keyword);
  if (!value->is_string()) return invalid_keyword(place, keyword, "has to be a string");
  return std::string(value->get_string());
}

Result<ExprId> read_pattern(SchemaCompiler& compiler, std::string_view text, const std::string& place,
                            std::string_view keyword, bool whole, bool counted) {
  RegexOptions options;
  options.place = fmt::format("{}/{}", place, keyword);
  options.whole = whole;
  options.counted = counted;
  options.encode = [&](const CharSet& set) { return compiler.json().spelled(set); };
  return parse_regex(compiler.rules(), text, options);
}

// ---- enum ----

// Whether a listed value passes the keywords beside it; what cannot be told here is refused.
Result<bool> passes(const json::value& value, const json::object& schema, const std::string& place) {
  BRIO_TRY(const TypeSet types, read_types(schema, place));
  const auto refuse = [&](const char* keyword) -> Result<bool> {
    return unsupported_schema(place, fmt::format("'{}' beside 'enum' or 'const'", keyword));
  };
  const auto refuse_any = [&](std::initializer_list<const char*> keywords) -> Result<bool> {
    for (const char* keyword : keywords) {
      if (schema.contains(keyword)) return refuse(keyword);
    }
    return true;
  };
  if (value.is_null()) return types.null;
  if (value.is_bool()) return types.boolean;
  if (value.is_string()) {
    if (!types.string) return false;
    BRIO_TRY(const Lengths lengths, read_lengths(schema, place));
    int64_t length = 0;
    const std::string_view text = text_of(value.get_string());
    for (size_t at = 0; at < text.size(); ++length) at += tokenizer::decode_utf8(text, at).size;
    if (length < lengths.min || (lengths.max >= 0 && length > lengths.max)) return false;
    return refuse_any({"pattern", "format"});
  }
  if (value.is_array()) {
    if (!types.array) return false;
    return refuse_any({"items", "prefixItems", "minItems", "maxItems"});
  }
  if (value.is_object()) {
    if (!types.object) return false;
    return refuse_any({"properties", "required", "additionalProperties", "minProperties", "maxProperties"});
  }
  const double number = value.to_number<double>();
  const bool whole = std::floor(number) == number;
  if (!types.number && !(types.integer && whole)) return false;
  const auto bound = [&](const char* keyword) -> std::optional<double> {
    const json::value* found = schema.if_contains(keyword);
    if (!found || !found->is_number()) return std::nullopt;
    return found->to_number<double>();
  };
  if (bound("minimum") && number < *bound("minimum")) return false;
  if (bound("maximum") && number > *bound("maximum")) return false;
  if (bound("exclusiveMinimum") && number <= *bound("exclusiveMinimum")) return false;
  if (bound("exclusiveMaximum") && number >= *bound("exclusiveMaximum")) return false;
  return true;
}

std::string number_text(const json::value& value) {
  if (value.is_int64()) return std::to_string(value.get_int64());
  if (value.is_uint64()) return std::to_string(value.get_uint64());
  const double number = value.get_double();
  if (std::floor(number) == number && std::abs(number) < kMaxWhole)
    return fmt::format("{:.0f}", number == 0.0 ? 0.0 : number);
  return fmt::format("{}", number);
}

ExprId exactly(SchemaCompiler& compiler, const json::value& value) {  // as deep as the schema's text
  Rules& rules = compiler.rules();
  JsonRules& json = compiler.json();
  if (value.is_null()) return json.null();
  if (value.is_bool()) return rules.literal(value.get_bool() ? "true" : "false");
  if (value.is_string()) return json.text(text_of(value.get_string()));
  if (!value.is_array() && !value.is_object()) return rules.literal(number_text(value));
  const bool is_array = value.is_array();
  const size_t size = is_array ? value.get_array().size() : value.get_object().size();
  std::vector<ExprId> parts{json.open(is_array ? '[' : '{')};
  if (is_array) {
    for (const json::value& item : value.get_array()) {
      if (parts.size() > 1) parts.push_back(json.comma());
      parts.push_back(exactly(compiler, item));
    }
  } else {
    for (const auto& [key, item] : value.get_object()) {
      if (parts.size() > 1) parts.push_back(json.comma());
      parts.push_back(json.text({key.data(), key.size()}));
      parts.push_back(json.colon());
      parts.push_back(exactly(compiler, item));
    }
  }
  parts.push_back(size == 0 ? rules.literal(is_array ? "]" : "}") : json.close(is_array ? ']' : '}'));
  return rules.sequence(std::move(parts));
}

}  // namespace

Result<TypeSet> read_types(const json::object& schema, const std::string& place) {
  const json::value* types = schema.if_contains("type");
  if (!types) return TypeSet{};
  if (!types->is_array()) return invalid_keyword(place, "type", "has to be a type or a list of types");
  TypeSet out{false, false, false, false, false, false, false};
  for (const json::value& type : types->get_array()) {
    const std::string_view name = type.is_string() ? text_of(type.get_string()) : std::string_view();
    bool* flag = name == "null"      ? &out.null
                 : name == "boolean" ? &out.boolean
                 : name == "number"  ? &out.number
                 : name == "integer" ? &out.integer
                 : name == "string"  ? &out.string
                 : name == "array"   ? &out.array
                 : name == "object"  ? &out.object
                                     : nullptr;
    if (!flag)
      return invalid_keyword(place, "type", "can name null, boolean, number, integer, string, array and object");
    *flag = true;
  }
  return out;
}

Result<std::optional<int64_t>> read_count(const json::object& schema, const char* keyword, const std::string& place) {
  const json::value* value = schema.if_contains(keyword);
  if (!value) return std::optional<int64_t>();
  if (value->is_int64() && value->get_int64() >= 0) return std::optional(value->get_int64());
  if (value->is_double() && value->get_double() >= 0 && value->get_double() < kMaxWhole &&
      std::floor(value->get_double()) == value->get_double()) {
    return std::optional(static_cast<int64_t>(value->get_double()));
  }
  return invalid_keyword(place, keyword, "has to be a whole number from 0");
}

Result<ExprId> string_values(SchemaCompiler& compiler, const json::object& schema, const std::string& place) {
  JsonRules& json = compiler.json();
  BRIO_TRY(const Lengths lengths, read_lengths(schema, place));
  const bool pattern = schema.contains("pattern");
  const bool format = schema.contains("format");
  if (!pattern && !format) return json.string(lengths.min, lengths.max);
  const int together = (pattern ? 1 : 0) + (format ? 1 : 0) + (lengths.any() ? 0 : 1);
  if (together > 2) return unsupported_schema(place, "'pattern' beside 'format' and a length");
  std::vector<ExprId> sets;
  if (pattern) {
    BRIO_TRY(const std::string text, read_text(schema, "pattern", place));
    BRIO_TRY(const ExprId set, read_pattern(compiler, text, place, "pattern", false, together == 1));
    sets.push_back(set);
  }
  if (format) {
    BRIO_TRY(const std::string name, read_text(schema, "format", place));
    const std::optional<std::string> text = format_regex(name);
    if (!text) return unsupported_schema(place, fmt::format("'format' of '{}'", name));
    BRIO_TRY(const ExprId set, read_pattern(compiler, *text, place, "format", true, false));
    sets.push_back(set);
  }
  if (!lengths.any()) {
    constexpr int64_t kMostWritten = 10'000;
    if (std::max(lengths.min, lengths.max) > kMostWritten) {
      return unsupported_schema(place, fmt::format("a length above {} beside 'pattern' or 'format'", kMostWritten));
    }
    if (lengths.max >= 0 && lengths.min > lengths.max) return compiler.rules().never();
    sets.push_back(compiler.rules().repeat(json.spelled(CharSet::all()), static_cast<int>(lengths.min),
                                           static_cast<int>(lengths.max)));
  }
  if (sets.size() == 1) return json.quoted(sets[0]);
  return json.quoted(
      compiler.rules().call(compiler.rules().add_product(place, Rule::Kind::kIntersect, sets[0], sets[1])));
}

Result<ExprId> number_values(SchemaCompiler& compiler, const json::object& schema, bool fractions,
                             const std::string& place) {
  if (const char* keyword = bound_keyword(schema); keyword && fractions) {
    return unsupported_schema(place, fmt::format("'{}' where the type is not 'integer'", keyword));
  }
  if (fractions) return compiler.json().number();
  BRIO_TRY(const Bounds bounds, read_bounds(schema, place));
  return compiler.json().integer(bounds.low, bounds.high);
}

Result<ExprId> enum_values(SchemaCompiler& compiler, const json::object& schema, const std::string& place) {
  const json::value& values = schema.at("enum");
  if (!values.is_array()) return invalid_keyword(place, "enum", "has to be a list");
  std::vector<ExprId> parts;
  for (const json::value& value : values.get_array()) {
    BRIO_TRY(const bool fits, passes(value, schema, place));
    if (fits) parts.push_back(exactly(compiler, value));
  }
  return compiler.rules().choice(std::move(parts));
}

}  // namespace brio::grammar
