// What bench has to know of the machine beside base/cpu.h: the size of its last cache, which sizes everything that is meant
// to be read from memory.
#pragma once

#include <cstdint>

namespace brio::bench {

// Of one instance, as the system reports it; 32 MiB where it does not say.
int64_t last_level_cache_bytes();

// Distinct bytes that a kernel must go through before it sees the same ones again: eight times the last cache, so that
// at most an eighth of them can still be there.
int64_t default_working_set_bytes();

// What the read probe reads: at least 1 GiB, and no less than a kernel's working set.
int64_t default_probe_bytes();

}  // namespace brio::bench
