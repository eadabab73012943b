#include "bench/machine.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace brio::bench {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kUnknownCache = 32 * kMiB;

}  // namespace

int64_t last_level_cache_bytes() {
  int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream in("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    int64_t size = 0;
    char unit = 0;
    if (!(in >> size)) continue;
    in >> unit;  // "491520K"
    largest = std::max(largest, size * (unit == 'M' ? kMiB : unit == 'K' ? 1024 : 1));
  }
  return largest > 0 ? largest : kUnknownCache;
}

int64_t default_working_set_bytes() {
  return 8 * last_level_cache_bytes();
}

int64_t default_probe_bytes() {
  return std::max(1024 * kMiB, default_working_set_bytes());
}

}  // namespace brio::bench
