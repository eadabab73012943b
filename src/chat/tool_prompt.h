// Tools for templates that know none (Gemma 3 among them): the functions are described in the system message, calls and
// results of earlier turns become plain text. The answers are in ToolFormat "json".
#pragma once

#include <boost/json/fwd.hpp>

namespace brio::chat {

// context: what Template::render is about to get. Its messages are rewritten, tools becomes null.
void describe_tools(boost::json::object& context);

}  // namespace brio::chat
