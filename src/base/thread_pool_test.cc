#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/cpu.h"

namespace brio {
namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, RunsTheBodyOnceOnEveryThreadOfEveryJob) {
  ThreadPool pool(GetParam());
  std::vector<int> calls(static_cast<size_t>(GetParam()));
  for (int job = 0; job < 300; ++job) {
    pool.run([&](int thread) { ++calls[static_cast<size_t>(thread)]; });
  }
  for (const int count : calls) EXPECT_EQ(count, 300);
}

TEST_P(ThreadPoolTest, ParallelForCoversEveryIndexOnceInRangesNoLongerThanTheGrain) {
  ThreadPool pool(GetParam());
  for (const int count : {0, 1, 2, 7, 64, 1001}) {
    for (const int grain : {1, 3, 64}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      pool.parallel_for(count, grain, [&](int begin, int end) {
        EXPECT_LE(end - begin, grain);
        for (int i = begin; i < end; ++i) hits[static_cast<size_t>(i)].fetch_add(1);
      });
      for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1);
    }
  }
}

TEST_P(ThreadPoolTest, EveryThreadFlushesDenormals) {
  ThreadPool pool(GetParam());
  std::atomic<int> with_mode{0};
  pool.run([&](int) { with_mode += float_mode_is_set() ? 1 : 0; });
  EXPECT_EQ(with_mode.load(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolTest, testing::Values(1, 2, 5, 16));

TEST(ThreadPool, WakesSleepingWorkers) {
  ThreadPool pool(3);
  std::atomic<int> total{0};
  for (int job = 0; job < 5; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // past the spin: the workers sleep on the futex
    pool.run([&](int) { total += 1; });
  }
  EXPECT_EQ(total.load(), 15);
}

}  // namespace
}  // namespace brio
