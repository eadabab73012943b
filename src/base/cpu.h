// What this process may use: instruction sets, cores (affinity, cpuset and cgroup quota), memory (cgroup limit).
// Read once at start; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brio {

enum class Isa { kScalar, kAvx2, kAvx512 };  // in ascending order of preference

std::string_view name(Isa isa);  // "scalar", "avx2", "avx512"
bool cpu_supports(Isa isa);      // avx512 needs F, BW, DQ, VL, VNNI and BF16
Result<Isa> choose_isa();        // the best one, or BRIO_ISA; an error names what the CPU lacks

std::vector<int> allowed_cpus();  // ids in the affinity mask, ascending
int effective_cpus();             // affinity count capped by the cgroup quota, at least 1
int64_t memory_limit_bytes();     // the least of physical memory, cgroup limits (v1, v2) and RLIMIT_AS
std::string cpu_model();          // "AMD EPYC ..." or "unknown"

// Sets flush-to-zero and denormals-are-zero for the calling thread (DESIGN R9): every compute thread, every step.
void set_float_mode();
bool float_mode_is_set();

}  // namespace brio
