// Context: what the caller gives a template to render, from Boost.JSON to Values. The only file pair that knows both.
#pragma once

#include <boost/json/fwd.hpp>

#include "chat/value.h"

namespace brio::chat {

// All text and numbers are untrusted, except the strings bos_token, eos_token, unk_token and pad_token of the top level
// and the role of a message where it is one of the usual words.
Result<Dict> context_values(Budget& budget, const boost::json::object& context);

}  // namespace brio::chat
