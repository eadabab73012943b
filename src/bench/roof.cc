#include "bench/roof.h"

namespace brio::bench {

std::string_view name(Limit limit) {
  switch (limit) {
    case Limit::kMemory:
      return "read";
    case Limit::kCache:
      return "cache";
    case Limit::kInt8:
      return "int8";
    case Limit::kBF16:
      return "bf16";
    case Limit::kFP32:
      return "fp32";
  }
  return "";
}

Roof roof(const Work& work, const Rates& rates) {
  Roof moving;
  Roof computing;
  switch (work.source) {
    case Source::kMemory:
      moving = {work.bytes / rates.read, Limit::kMemory};
      break;
    case Source::kCache:
      moving = {work.bytes / rates.cache, Limit::kCache};
      break;
  }
  switch (work.arithmetic) {
    case Arithmetic::kInt8:
      computing = {work.macs / rates.int8, Limit::kInt8};
      break;
    case Arithmetic::kBF16:
      computing = {work.macs / rates.bf16, Limit::kBF16};
      break;
    case Arithmetic::kFP32:
      computing = {work.macs / rates.fp32, Limit::kFP32};
      break;
  }
  return computing.seconds > moving.seconds ? computing : moving;
}

}  // namespace brio::bench
