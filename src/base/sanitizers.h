// Whether this build has a sanitizer that brings its own allocator and address space: tests of memory limits skip then.
#pragma once

namespace brio {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitizedMemory = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitizedMemory = true;
#else
inline constexpr bool kSanitizedMemory = false;
#endif
#else
inline constexpr bool kSanitizedMemory = false;
#endif

}  // namespace brio
