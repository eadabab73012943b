// tojson: values as JSON text, laid out as Python's json.dumps does (", " and ": ", nothing escaped for HTML).
#pragma once

#include <optional>
#include <string>

#include "chat/native.h"

namespace brio::chat {

// Filter tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false).
Result<Value> to_json(Interpreter& in, const Value& self, const Arguments& arguments);

}  // namespace brio::chat
