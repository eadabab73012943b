// hash_bytes: a small deterministic 64-bit hash (FNV-1a with a final mix) for seeds and test digests. Not for tables fed
// by strangers, not for security.
#pragma once

#include <cstdint>
#include <string_view>

namespace brio {

constexpr uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0) {
  uint64_t hash = 0xcbf29ce484222325ULL ^ (seed * 0x9E3779B97F4A7C15ULL);
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93ULL;
  return hash ^ hash >> 32;
}

}  // namespace brio
