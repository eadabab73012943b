// Roof: how fast the machine could at best do some work, from what the probes reached in the same round (Williams et al.
// 2009, "Roofline"): the longer of moving its bytes and doing its multiply-adds. A share is roof time over measured time.
// Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace brio::bench {

enum class Arithmetic : uint8_t { kInt8, kBF16, kFP32 };
// Where the bytes come from. kCache: arrays that stay in the nearest cache, beside a read of 16 KiB.
enum class Source : uint8_t { kMemory, kCache };
enum class Limit : uint8_t { kMemory, kCache, kInt8, kBF16, kFP32 };

std::string_view name(Limit limit);  // "read", "cache", "int8", "bf16", "fp32": the names of the probes

// What the probes reached with all threads together.
struct Rates {
  double read = 0.0;   // bytes/s from memory
  double cache = 0.0;  // bytes/s from the nearest cache
  double int8 = 0.0;   // multiply-adds/s
  double bf16 = 0.0;
  double fp32 = 0.0;
};

struct Work {
  double bytes = 0.0;  // read
  double macs = 0.0;
  Arithmetic arithmetic = Arithmetic::kInt8;
  Source source = Source::kMemory;
};

struct Roof {
  double seconds = 0.0;
  Limit limit = Limit::kMemory;  // which of the two takes longer
};
Roof roof(const Work& work, const Rates& rates);

}  // namespace brio::bench
