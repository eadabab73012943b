// Conversions that Python does implicitly or by str(), repr(), bool(), len(), iter().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chat/text_builder.h"
#include "chat/value.h"

namespace brio::chat {

// str(value) and repr(value), appended. Undefined prints as nothing.
Result<void> print(TextBuilder& out, const Value& value, Budget& budget);
Result<void> print_repr(TextBuilder& out, const Value& value, Budget& budget);

Result<Text> to_text(Budget& budget, const Value& value);     // str(value); a copy if it is a string
Result<Value> to_string(Budget& budget, const Value& value);  // the same as a value; shares a string
std::string float_repr(double number);                        // "1.0", "1e+16", "inf", "nan"

bool truthy(const Value& value);
Result<int64_t> length(Budget& budget, const Value& value);  // len(value): an error for what has none
// A list value whose items() are what iterating value gives: characters, keys, the rest of a generator. Error: not
// iterable.
Result<Value> as_list(Budget& budget, const Value& value);

// Arguments of filters and methods. `what` names the argument in the error.
Result<int64_t> to_index(const Value& value, std::string_view what);              // int or bool
Result<const Text*> to_text_argument(const Value& value, std::string_view what);  // a string
Error undefined_error(const Value& value);

// At most 60 characters of a name, for messages.
std::string shown(std::string_view name);

}  // namespace brio::chat
