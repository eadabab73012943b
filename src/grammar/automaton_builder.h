// build_automaton: rules to automata: each rule by subset construction over bytes and calls (Rabin and Scott, 1959), then
// what cannot complete is cut off. Pure function.
//
// Errors are kInvalidArgument and name the rule: beyond a limit; a rule that calls itself without consuming anything; no
// string matches the root.
#pragma once

#include "base/result.h"
#include "grammar/automaton.h"
#include "grammar/limits.h"
#include "grammar/rules.h"

namespace brio::grammar {

Result<Automaton> build_automaton(const Rules& rules, const CompileLimits& limits);

}  // namespace brio::grammar
