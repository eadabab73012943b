// BRIO_CHECK: a broken invariant, never reachable from user bytes. Prints where and why, then aborts.
// BRIO_DCHECK: the same in debug builds only, for conditions on hot paths.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace brio {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition, const std::string& context) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s%s%s\n", file, line, condition, context.empty() ? "" : ": ",
               context.c_str());
  std::abort();
}

}  // namespace brio

#define BRIO_CHECK(condition, ...)                                                                       \
  do {                                                                                                   \
    if (!(condition)) ::brio::check_failed(__FILE__, __LINE__, #condition, fmt::format("" __VA_ARGS__)); \
  } while (false)
#ifdef NDEBUG
#define BRIO_DCHECK(condition, ...) \
  do {                              \
  } while (false && (condition))
#else
#define BRIO_DCHECK(condition, ...) BRIO_CHECK(condition, __VA_ARGS__)
#endif
