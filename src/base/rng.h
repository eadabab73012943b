// Counter-based random numbers (DESIGN R6): a value is a pure function of its key, so no draw depends on any other.
// Philox 4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace brio {

// Ten rounds of Philox 4x32 over `counter` under `key`.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

// A small seeded stream for tests and generators (not for sampling): stream.next() is philox over 0, 1, 2, ...
class Rng {
 public:
  explicit Rng(uint64_t seed) : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}
  uint32_t next() {
    if (used_ == 4) {
      block_ = philox({static_cast<uint32_t>(count_), static_cast<uint32_t>(count_ >> 32), 0, 0}, key_);
      ++count_;
      used_ = 0;
    }
    return block_[used_++];
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((uint64_t{next()} * bound) >> 32); }  // bound > 0
  float uniform(float low, float high) { return low + (high - low) * (static_cast<float>(next() >> 8) * 0x1p-24F); }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> block_{};
  uint64_t count_ = 0;
  int used_ = 4;
};

}  // namespace brio
