// What compiling a grammar may cost. All are counts, so that the same text is always accepted or always refused, however
// fast the machine; `max_work` bounds the time (about 10 ns a unit).
#pragma once

#include <cstddef>
#include <cstdint>

namespace brio::grammar {

struct CompileLimits {
  size_t max_text_bytes = size_t{1} << 18;  // of a schema, regex or grammar; of all choices together
  int max_depth = 100;                      // nesting of brackets, groups, schemas
  int max_rules = 20'000;
  int max_exprs = 1'000'000;
  int max_states = 40'000;                // of all automata together, and of one before it is made deterministic
  int64_t max_table_entries = 4'000'000;  // states times byte classes, 4 bytes each
  int64_t max_work = 100'000'000;
};

}  // namespace brio::grammar
