// GBNF, the grammar notation of llama.cpp, as rules: `name ::= ...` from `root` on, "literals", [classes], ., groups, |,
// * + ? {n} {n,} {n,m}, # comments. Escapes: \n \r \t \\ \" \[ \] \- \^ \xHH \uHHHH \UHHHHHHHH.
#pragma once

#include <string_view>

#include "grammar/limits.h"
#include "grammar/rules.h"

namespace brio::grammar {

// Errors: kInvalidArgument with line and column; kUnsupported for tokens by number or name (<[7]>, <think>).
Result<void> parse_gbnf(Rules& rules, std::string_view text, const CompileLimits& limits);

}  // namespace brio::grammar
