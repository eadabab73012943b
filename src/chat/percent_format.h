// "%s of %d" % (a, b) and "%(name)s" % {...}, as Python does it; also the filter `format`.
#pragma once

#include "chat/value.h"

namespace brio::chat {

// operand: a tuple gives one value per field, a dictionary serves %(name), anything else is the one value.
Result<Value> percent_format(Budget& budget, const Text& format, const Value& operand);

}  // namespace brio::chat
