// JSON schema (draft 2020-12's vocabulary, as far as README.md lists it) as rules. Everything that the rules match is valid;
// every valid value can be written, with its properties in the schema's order (those of `properties`, then others that
// are required, then the rest), strings as json.dumps(ensure_ascii=False) writes them, whole numbers without fraction,
// and spaces or line ends between tokens (JsonRules::kMaxSpaces at a time).
#pragma once

#include <string_view>

#include "grammar/limits.h"
#include "grammar/rules.h"

namespace brio::grammar {

// Sets the root rule. Errors: kUnsupported names the keyword and where it stands ("schema, at #/properties/a: keyword
// 'not' is not supported"); kInvalidArgument for what is not a schema, or beyond a limit.
Result<void> parse_json_schema(Rules& rules, std::string_view text, const CompileLimits& limits);
// Any JSON object.
void set_json_object(Rules& rules);

}  // namespace brio::grammar
