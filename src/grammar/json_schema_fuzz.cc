// libFuzzer: a JSON schema, a zero byte, choices of a walk over its masks. What the walk writes to the end is JSON that
// Boost.JSON reads, of a type that the schema names; a refused schema has a message of one line.
#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "grammar/testing/random_walk.h"

namespace {

using namespace brio;
using grammar::testing::require;
namespace json = boost::json;

// Of the keywords that are easy to check, at the top of the schema alone.
void check_top(const json::object& schema, const json::value& value) {
  for (const char* keyword : {"$ref", "allOf", "anyOf", "oneOf"}) {
    if (schema.contains(keyword)) return;  // merged with others
  }
  if (const json::value* type = schema.if_contains("type"); type && type->is_string()) {
    const json::string& name = type->get_string();
    if (name == "object") require(value.is_object());
    if (name == "array") require(value.is_array());
    if (name == "string") require(value.is_string());
    if (name == "boolean") require(value.is_bool());
    if (name == "null") require(value.is_null());
    if (name == "number" || name == "integer") require(value.is_number());
  }
  const auto count = [&](const char* keyword) {
    return schema.contains(keyword) ? schema.at(keyword).to_number<double>() : -1.0;
  };
  if (value.is_array()) {
    const auto size = static_cast<double>(value.get_array().size());
    require(size >= count("minItems") && (count("maxItems") < 0 || size <= count("maxItems")));
  }
  if (value.is_object()) {
    const auto size = static_cast<double>(value.get_object().size());
    require(size >= count("minProperties") && (count("maxProperties") < 0 || size <= count("maxProperties")));
    if (schema.contains("required")) {
      for (const json::value& name : schema.at("required").as_array())
        require(value.get_object().contains(name.as_string()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = std::min(input.find('\0'), size);
  const std::string schema(input.substr(0, zero));
  const auto compiled = grammar::compile({grammar::GrammarKind::kJsonSchema, schema},
                                         grammar::testing::fuzz_vocabulary(), grammar::testing::fuzz_limits());
  if (!compiled.ok()) {
    require(!compiled.error().message.empty());
    require(compiled.error().code == ErrorCode::kInvalidArgument || compiled.error().code == ErrorCode::kUnsupported);
    return 0;
  }
  const auto text = grammar::testing::random_walk(*compiled, input.substr(std::min(zero + 1, size)));
  if (!text) return 0;
  json::parse_options options;
  options.max_depth = 200;
  json::error_code failure;
  const json::value value = json::parse(*text, failure, {}, options);
  require(!failure);
  const json::value read = json::parse(schema, failure, {}, options);
  require(!failure);
  if (read.is_object()) check_top(read.get_object(), value);
  return 0;
}
