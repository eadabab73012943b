#ifdef BRIO_BREAKS
#include "base/breaks.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "base/check.h"

namespace brio {
namespace {

uint8_t from_environment() {
  const char* text = std::getenv("BRIO_BREAK");
  const std::string_view rule = text == nullptr ? "" : text;
  if (rule.empty()) return 0;
  BRIO_CHECK(rule.size() == 2 && rule[0] == 'R' && rule[1] >= '1' && rule[1] <= '9', "BRIO_BREAK={}: not R1 to R9",
             rule);
  return static_cast<uint8_t>(rule[1] - '0');
}

std::atomic<uint8_t> broken{from_environment()};  // 0: none

}  // namespace

bool is_broken(Rule rule) {
  return broken.load(std::memory_order_relaxed) == static_cast<uint8_t>(rule);
}

void break_rule(std::optional<Rule> rule) {
  broken.store(rule ? static_cast<uint8_t>(*rule) : 0, std::memory_order_relaxed);
}

}  // namespace brio
#endif
