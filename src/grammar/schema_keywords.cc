#include "grammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <utility>
#include <vector>

namespace brio::grammar {
namespace {

namespace json = boost::json;

constexpr int kMaxSteps = 500;        // references and branches of one schema
constexpr int kMaxNesting = 60;       // of references inside branches
constexpr size_t kMaxBranches = 128;  // of anyOf, after those of several schemas are multiplied

constexpr std::array kAnnotations = {"title",     "description", "default", "examples", "deprecated", "readOnly",
                                     "writeOnly", "$comment",    "$schema", "$defs",    "definitions"};
constexpr std::array kKnown = {
    "type",     "enum",     "const",     "properties", "required",      "additionalProperties", "items",
    "minItems", "maxItems", "minLength", "maxLength",  "minProperties", "maxProperties",        "prefixItems",
    "pattern",  "minimum",  "maximum",   "anyOf",      "oneOf",         "exclusiveMinimum",     "exclusiveMaximum",
    "allOf",    "$ref",     "format"};

template <typename Names>
bool is_in(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const json::value* find(const json::object& object, std::string_view key) {
  return object.if_contains(json::string_view(key.data(), key.size()));
}

// `type` as a list, `const` as an enum, oneOf as anyOf; annotations gone.
Result<json::object> normalized(const json::object& schema, const std::string& place) {
  json::object out;
  for (const auto& [key, value] : schema) {
    const std::string_view name(key.data(), key.size());
    if (is_annotation(name) || name == "$id") continue;
    if (name == "uniqueItems") continue;
    if (name == "type" && value.is_string()) {
      out["type"] = json::array{value};
    } else if (name == "const") {
      if (find(schema, "enum")) return unsupported_schema(place, "'const' beside 'enum'");
      out["enum"] = json::array{value};
    } else if (name == "oneOf") {
      if (find(schema, "anyOf")) return unsupported_schema(place, "'oneOf' beside 'anyOf'");
      out["anyOf"] = value;
    } else {
      out[key] = value;
    }
  }
  return out;
}

json::value both(const json::value& a, const json::value& b) {
  if (a.is_bool()) return a.get_bool() ? b : a;
  if (b.is_bool()) return b.get_bool() ? a : b;
  if (a == b) return a;
  return json::object{{"allOf", json::array{a, b}}};
}

json::array common(const json::array& a, const json::array& b) {
  json::array out;
  for (const json::value& value : a) {
    if (std::find(b.begin(), b.end(), value) != b.end()) out.push_back(value);
  }
  return out;
}

json::array common_types(const json::array& a, const json::array& b) {
  json::array out = common(a, b);
  const auto has = [](const json::array& types, const char* type) {
    return std::find(types.begin(), types.end(), json::value(type)) != types.end();
  };
  const bool integers = (has(a, "integer") && has(b, "number")) || (has(a, "number") && has(b, "integer"));
  if (integers && !has(out, "integer") && !has(out, "number")) out.emplace_back("integer");
  return out;
}

bool is_number(const json::value& value) {
  return value.is_int64() || value.is_uint64() || value.is_double();
}
bool is_less(const json::value& a, const json::value& b) {
  if (a.is_int64() && b.is_int64()) return a.get_int64() < b.get_int64();
  return a.to_number<double>() < b.to_number<double>();
}

}  // namespace

Error invalid_keyword(const std::string& place, std::string_view keyword, std::string_view what) {
  return error(ErrorCode::kInvalidArgument, "{}: '{}' {}", place, keyword, what);
}

Error unsupported_schema(const std::string& place, std::string_view what) {
  return error(ErrorCode::kUnsupported, "{}: {} is not supported", place, what);
}

bool is_annotation(std::string_view keyword) {
  return is_in(kAnnotations, keyword);
}

Result<void> check_keywords(const json::object& schema, const std::string& place, bool is_root) {
  for (const auto& [key, value] : schema) {
    const std::string_view name(key.data(), key.size());
    if (is_in(kKnown, name) || is_annotation(name) || (name == "$id" && is_root)) continue;
    if (name == "uniqueItems" && value.is_bool() && !value.get_bool()) continue;
    return error(ErrorCode::kUnsupported, "{}: keyword '{}' is not supported", place, name);
  }
  return {};
}

Result<const json::value*> SchemaReader::resolve(std::string_view reference, const std::string& place) const {
  if (reference != "#" && !reference.starts_with("#/")) {
    return error(ErrorCode::kUnsupported, "{}: '$ref' can only point into the schema itself, as \"#/...\"", place);
  }
  std::string pointer;
  for (size_t i = 1; i < reference.size(); ++i) {
    if (reference[i] != '%') {
      pointer += reference[i];
      continue;
    }
    const auto digit = [&](size_t at) {
      const char c = at < reference.size() ? reference[at] : '\0';
      return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    };
    if (digit(i + 1) < 0 || digit(i + 2) < 0) return invalid_keyword(place, "$ref", "has a broken %-escape");
    pointer += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
    i += 2;
  }
  json::error_code failure;
  const json::value* found = root_.find_pointer(pointer, failure);
  if (failure || found == nullptr)
    return invalid_keyword(place, "$ref", fmt::format("points to '{}', which is not there", reference));
  return found;
}

Result<json::value> SchemaReader::flatten(const json::value& schema, const std::string& place) {
  if (depth_ == 0) steps_ = 0;
  if (++steps_ > kMaxSteps || depth_ > kMaxNesting) {
    return error(ErrorCode::kInvalidArgument, "{}: references and branches refer to each other without end", place);
  }
  if (schema.is_bool()) return schema;
  if (!schema.is_object())
    return error(ErrorCode::kInvalidArgument, "{}: a schema has to be an object or a boolean", place);
  BRIO_TRY_OK(check_keywords(schema.get_object(), place, place == kRootPlace));
  BRIO_TRY(json::object plain, normalized(schema.get_object(), place));
  ++depth_;
  Result<json::value> out = flatten_object(std::move(plain), place);
  --depth_;
  return out;
}

Result<json::value> SchemaReader::flatten_object(json::object schema, const std::string& place) {
  std::vector<json::value> parts;
  if (const json::value* reference = find(schema, "$ref")) {
    if (!reference->is_string()) return invalid_keyword(place, "$ref", "has to be a string");
    BRIO_TRY(const json::value* target, resolve(text_of(reference->get_string()), place));
    BRIO_TRY(json::value part, flatten(*target, fmt::format("schema, at {}", text_of(reference->get_string()))));
    parts.push_back(std::move(part));
  }
  if (const json::value* all = find(schema, "allOf")) {
    if (!all->is_array() || all->get_array().empty())
      return invalid_keyword(place, "allOf", "has to be a list of schemas");
    for (size_t i = 0; i < all->get_array().size(); ++i) {
      BRIO_TRY(json::value part, flatten(all->get_array()[i], fmt::format("{}/allOf/{}", place, i)));
      parts.push_back(std::move(part));
    }
  }
  schema.erase("$ref");
  schema.erase("allOf");
  json::value out = std::move(schema);
  for (const json::value& part : parts) {
    BRIO_TRY(out, merge(out, part, place));
  }
  return out;
}

Result<void> SchemaReader::merge_properties(const json::object& a, const json::object& b, json::object& out,
                                            const std::string& place) {
  const auto properties = [&](const json::object& schema) -> Result<json::object> {
    const json::value* value = find(schema, "properties");
    if (!value) return json::object();
    if (!value->is_object()) return invalid_keyword(place, "properties", "has to be an object");
    return value->get_object();
  };
  const auto additional = [](const json::object& schema) {
    const json::value* value = find(schema, "additionalProperties");
    return value ? *value : json::value(true);
  };
  BRIO_TRY(const json::object of_a, properties(a));
  BRIO_TRY(const json::object of_b, properties(b));
  json::object merged;
  for (const auto& [key, value] : of_a) {
    const json::value* other = of_b.if_contains(key);
    merged[key] = both(value, other ? *other : additional(b));
  }
  for (const auto& [key, value] : of_b) {
    if (!of_a.contains(key)) merged[key] = both(additional(a), value);
  }
  if (!merged.empty()) out["properties"] = std::move(merged);
  if (find(a, "additionalProperties") || find(b, "additionalProperties")) {
    out["additionalProperties"] = both(additional(a), additional(b));
  }
  return {};
}

Result<json::value> SchemaReader::merge(const json::value& a, const json::value& b, const std::string& place) {
  if (a.is_bool()) return a.get_bool() ? b : a;
  if (b.is_bool()) return b.get_bool() ? a : b;
  const json::object& x = a.get_object();
  const json::object& y = b.get_object();
  json::object out;
  BRIO_TRY_OK(merge_properties(x, y, out, place));
  const json::value* prefix_x = find(x, "prefixItems");
  const json::value* prefix_y = find(y, "prefixItems");
  for (const json::object* side : {&x, &y}) {
    const json::object& other = side == &x ? y : x;
    for (const auto& [key, value] : *side) {
      const std::string_view name(key.data(), key.size());
      if (name == "properties" || name == "additionalProperties") continue;
      const json::value* second = other.if_contains(key);
      if ((name == "items" || name == "prefixItems") && (prefix_x || prefix_y) && x != y) {
        return error(ErrorCode::kUnsupported, "{}: 'prefixItems' in 'allOf' is not supported", place);
      }
      if (second == nullptr || *second == value) {
        out[key] = value;
        continue;
      }
      if (side == &y) continue;  // both have it: merged when x was looked at
      const bool lists = value.is_array() && second->is_array();
      const bool numbers = is_number(value) && is_number(*second);
      if (name == "type" && lists) {
        out[key] = common_types(value.get_array(), second->get_array());
      } else if (name == "enum" && lists) {
        out[key] = common(value.get_array(), second->get_array());
      } else if (name == "required" && lists) {
        json::array merged = value.get_array();
        merged.insert(merged.end(), second->get_array().begin(), second->get_array().end());
        out[key] = std::move(merged);
      } else if (name == "items") {
        out[key] = both(value, *second);
      } else if (name == "anyOf" && lists) {
        json::array pairs;
        if (value.get_array().size() * second->get_array().size() > kMaxBranches) {
          return error(ErrorCode::kInvalidArgument, "{}: 'anyOf' in 'allOf' has more than {} combinations", place,
                       kMaxBranches);
        }
        for (const json::value& one : value.get_array()) {
          for (const json::value& two : second->get_array()) pairs.push_back(both(one, two));
        }
        out[key] = std::move(pairs);
      } else if ((name.starts_with("min") || name == "exclusiveMinimum") && numbers) {
        out[key] = is_less(value, *second) ? *second : value;
      } else if ((name.starts_with("max") || name == "exclusiveMaximum") && numbers) {
        out[key] = is_less(value, *second) ? value : *second;
      } else {
        return error(ErrorCode::kUnsupported, "{}: two different '{}' in 'allOf' are not supported", place, name);
      }
    }
  }
  return json::value(std::move(out));
}

}  // namespace brio::grammar
