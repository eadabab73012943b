#include "server/call_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string_view>

#include "base/hash.h"

namespace brio::server {
namespace {

constexpr size_t kShortSize = 9;

uint64_t random_bits() {
  thread_local std::mt19937_64 generator{(uint64_t{std::random_device{}()} << 32) ^ std::random_device{}()};
  return generator();
}

std::string letters_and_digits(uint64_t number) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string out;
  for (size_t i = 0; i < kShortSize; ++i, number /= kAlphabet.size()) out += kAlphabet[number % kAlphabet.size()];
  return out;
}

}  // namespace

std::string random_call_id() {
  const uint64_t first = random_bits();
  return fmt::format("call_{:016x}{:08x}", first, static_cast<uint32_t>(random_bits()));
}

std::string random_short_call_id() {
  return letters_and_digits(random_bits());
}

std::string short_call_id(const std::string& id) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (id.size() == kShortSize && std::all_of(id.begin(), id.end(), plain)) return id;
  return letters_and_digits(hash_bytes(id));
}

}  // namespace brio::server
