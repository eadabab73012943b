// Ids of tool calls. Any thread.
#pragma once

#include <string>

namespace brio::server {

std::string random_call_id();        // "call_" and 96 random bits: ids of one server do not repeat
std::string random_short_call_id();  // nine letters and digits, the only ids that templates of Mistral take
// A client's id as such a template takes it: equal ones stay equal.
std::string short_call_id(const std::string& id);

}  // namespace brio::server
