// Strings, numbers and listed values of a flattened schema. Private to the module; the compiler is json_schema.cc.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "grammar/json_rules.h"

namespace brio::grammar {

// What the parts of a schema need of the whole.
class SchemaCompiler {
 public:
  virtual ~SchemaCompiler() = default;
  virtual Result<ExprId> compile(const boost::json::value& schema, const std::string& place) = 0;
  virtual Rules& rules() = 0;
  virtual JsonRules& json() = 0;
};

struct TypeSet {
  bool null = true, boolean = true, number = true, integer = true, string = true, array = true, object = true;
};
Result<TypeSet> read_types(const boost::json::object& schema, const std::string& place);  // absent: all

// A bound such as minItems, absent or not negative.
Result<std::optional<int64_t>> read_count(const boost::json::object& schema, const char* keyword,
                                          const std::string& place);

Result<ExprId> string_values(SchemaCompiler& compiler, const boost::json::object& schema, const std::string& place);
Result<ExprId> number_values(SchemaCompiler& compiler, const boost::json::object& schema, bool fractions,
                             const std::string& place);
Result<ExprId> enum_values(SchemaCompiler& compiler, const boost::json::object& schema, const std::string& place);

}  // namespace brio::grammar
