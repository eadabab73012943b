// Points in time as wire formats write them. Pure functions, any thread.
#pragma once

#include <fmt/chrono.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace brio::api {

// RFC 3339 in UTC, "2026-01-31T12:00:00Z"; seconds since 1970.
inline std::string rfc3339(int64_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

}  // namespace brio::api
