#include "base/memory_reserve.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <thread>

#include "base/sanitizers.h"

namespace brio {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kReserve = size_t{1} << 20;

// More than any address space has: always refused. Sanitizers end the process instead of refusing.
bool allocation_fails() {
  const volatile size_t too_much = SIZE_MAX / 4;
  try {
    ::operator delete(::operator new(too_much));
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

class MemoryReserveTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the sanitizer's operator new has no handler";
    MemoryReserve::install(kReserve, milliseconds(20));
  }
  void TearDown() override { std::set_new_handler(nullptr); }
};

TEST_F(MemoryReserveTest, AThreadThatMayFailFailsAtOnceAndLeavesTheReserve) {
  std::thread([] {
    MemoryReserve::this_thread_may_fail();
    EXPECT_TRUE(allocation_fails());
    EXPECT_EQ(MemoryReserve::held_bytes(), kReserve);
  }).join();
}

TEST_F(MemoryReserveTest, AnEssentialThreadUsesTheReserveThenWaits) {
  for (const bool scoped : {false, true}) {
    MemoryReserve::refill();
    EXPECT_EQ(MemoryReserve::held_bytes(), kReserve);
    std::thread([scoped] {
      std::unique_ptr<MemoryReserve::Essential> essential;
      if (scoped) {
        MemoryReserve::this_thread_may_fail();
        essential = std::make_unique<MemoryReserve::Essential>();
      }
      const auto start = Clock::now();
      EXPECT_TRUE(allocation_fails());
      EXPECT_GE(Clock::now() - start, milliseconds(20));
      EXPECT_EQ(MemoryReserve::held_bytes(), 0u);
      essential.reset();
      if (!scoped) return;
      MemoryReserve::refill();
      EXPECT_TRUE(allocation_fails());
      EXPECT_EQ(MemoryReserve::held_bytes(), kReserve) << "the thread may fail again";
    }).join();
  }
}

}  // namespace
}  // namespace brio
