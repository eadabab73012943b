// Deliberate breaks of the rules R1 to R9 (DESIGN section 4), so that tests can show that the matrix (src/prove) notices
// each. Only a build with -DBRIO_BREAKS=ON has them; there one rule at a time is broken, by BRIO_BREAK=R1 .. R9 in the
// environment at start or by break_rule(). In any other build is_broken() is the constant false and no broken code exists.
//
//   if (is_broken(Rule::kR2)) share_scales(out);  // declared everywhere, defined with BRIO_BREAKS alone
#pragma once

#include <cstdint>
#include <optional>

namespace brio {

enum class Rule : uint8_t { kR1 = 1, kR2, kR3, kR4, kR5, kR6, kR7, kR8, kR9 };

#ifdef BRIO_BREAKS
bool is_broken(Rule rule);                  // any thread
void break_rule(std::optional<Rule> rule);  // none: all hold; between steps
#else
consteval bool is_broken(Rule) {
  return false;
}
#endif

}  // namespace brio
