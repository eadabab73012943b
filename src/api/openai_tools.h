// Tools in the form of OpenAI's chat: the fields tools, tool_choice and parallel_tool_calls. Inside api only.
#pragma once

#include "api/json_fields.h"
#include "api/request.h"

namespace brio::api {

// Errors name the field within: "tools[0].function.name". What needs output held to a grammar is refused.
void read_tools(JsonFields& fields, ChatRequest& out);

}  // namespace brio::api
