#include "base/cpu.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace brio {
namespace {

// The first line of a small file, or empty.
std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The cgroup directories of this process from its own up to the root; the tightest limit counts. `controller` empty: of
// cgroup v2 ("0::/path" in /proc/self/cgroup), else of that controller of v1 ("4:memory:/path").
std::vector<std::string> cgroup_directories(const std::string& controller = {}) {
  const std::string root = "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + controller);
  std::vector<std::string> directories;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t name = line.find(':') + 1;
    const size_t end = line.find(':', name);
    if (end == std::string::npos || line.substr(name, end - name) != controller) continue;
    std::string path = line.substr(end + 1);
    while (true) {
      directories.push_back(root + (path == "/" ? "" : path));
      const size_t slash = path.rfind('/');
      if (path.empty() || path == "/" || slash == std::string::npos) break;
      path.resize(slash);
    }
  }
  directories.push_back(root);
  return directories;
}

// The least of `limit` and what the files of that name say; "max" and absent files say nothing.
int64_t least_limit(int64_t limit, const std::vector<std::string>& directories, const char* file) {
  for (const std::string& directory : directories) {
    std::istringstream line(first_line(directory + "/" + file));
    int64_t bytes = 0;
    if (line >> bytes && bytes > 0) limit = std::min(limit, bytes);
  }
  return limit;
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

bool cpu_supports(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    case Isa::kAvx512:
      return cpu_supports(Isa::kAvx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
  }
  return false;
#else
  return isa == Isa::kScalar;
#endif
}

Result<Isa> choose_isa() {
  const char* forced = std::getenv("BRIO_ISA");
  if (forced == nullptr || *forced == '\0') {
    for (Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
      if (cpu_supports(isa)) return isa;
    }
    return Isa::kScalar;
  }
  for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (name(isa) != forced) continue;
    if (!cpu_supports(isa))
      return error(ErrorCode::kUnsupported, "BRIO_ISA={}: this CPU ({}) does not have it", forced, cpu_model());
    return isa;
  }
  return error(ErrorCode::kInvalidArgument, "BRIO_ISA={}: not one of scalar, avx2, avx512", forced);
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

int effective_cpus() {
  double cpus = static_cast<double>(allowed_cpus().size());
  for (const std::string& directory : cgroup_directories()) {
    std::istringstream line(first_line(directory + "/cpu.max"));  // "max 100000" or "150000 100000"
    double quota = 0;
    double period = 0;
    if (line >> quota >> period && period > 0) cpus = std::min(cpus, quota / period);
  }
  return std::max(1, static_cast<int>(std::floor(cpus)));
}

int64_t memory_limit_bytes() {
  int64_t limit = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  limit = least_limit(limit, cgroup_directories(), "memory.max");
  limit = least_limit(limit, cgroup_directories("memory"), "memory.limit_in_bytes");
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur < static_cast<rlim_t>(limit)) {
    limit = static_cast<int64_t>(address_space.rlim_cur);
  }
  return limit;
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

#if defined(__x86_64__)
namespace {
constexpr unsigned kFlushAndDenormalsZero = 0x8040;  // MXCSR bits 15 (FTZ) and 6 (DAZ)
}
void set_float_mode() {
  _mm_setcsr(_mm_getcsr() | kFlushAndDenormalsZero);
}
bool float_mode_is_set() {
  return (_mm_getcsr() & kFlushAndDenormalsZero) == kFlushAndDenormalsZero;
}
#else
void set_float_mode() {}
bool float_mode_is_set() {
  return true;
}
#endif

}  // namespace brio
