// "{} of {n:>3}".format(a, n=b), as Python does it.
#pragma once

#include "chat/interpreter.h"

namespace brio::chat {

Result<Value> brace_format(Interpreter& in, const Text& format, const Arguments& arguments);

}  // namespace brio::chat
