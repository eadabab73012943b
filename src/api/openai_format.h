// What OpenAI's response_format, and the extensions that other servers have, ask the output to look like. Inside api only.
//
//   response_format      {"type": "json_object"} or {"type": "json_schema", "json_schema": {"schema": {...}}}
//   structured_outputs   {"json": schema} or {"regex": "..."}, {"choice": [...]}, {"grammar": "..."}, {"json_object": true}
//   guided_json, guided_regex, guided_choice, guided_grammar, grammar    the same, one field each
#pragma once

#include <optional>

#include "api/json_fields.h"
#include "api/request.h"

namespace brio::api {

// At most one of them. Errors name the field; whether a schema or an expression can be followed is the backend's to say.
void read_output_format(JsonFields& fields, std::optional<OutputFormat>& out);

}  // namespace brio::api
