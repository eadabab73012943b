// x.name, x[key] and x[a:b:c]. What does not exist is an undefined value, not an error;
// but slicing what has no order is one.
#pragma once

#include "chat/interpreter.h"

namespace brio::chat {

Result<Value> attribute_of(Interpreter& in, const Value& object, std::string_view name);  // methods before keys
Result<Value> item_of(Interpreter& in, const Value& object, const Value& key);            // keys before methods
Result<Value> slice_of(Interpreter& in, const Value& object, const Value& start, const Value& stop, const Value& step);

// An attribute path as filters take it: "function.name", "0.role", or a number.
Result<Value> path_of(Interpreter& in, const Value& object, const Value& path);

}  // namespace brio::chat
