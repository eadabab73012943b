// Objects and arrays of a flattened schema. Private to the module; the compiler is json_schema.cc.
#pragma once

#include "grammar/schema_scalars.h"

namespace brio::grammar {

Result<ExprId> object_values(SchemaCompiler& compiler, const boost::json::object& schema, const std::string& place);
Result<ExprId> array_values(SchemaCompiler& compiler, const boost::json::object& schema, const std::string& place);

}  // namespace brio::grammar
