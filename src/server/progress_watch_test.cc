#include "server/progress_watch.h"

#include <gtest/gtest.h>

namespace brio::server {
namespace {

using std::chrono::seconds;

engine::EngineStats stats(int running, int64_t steps) {
  engine::EngineStats out;
  out.running = running;
  out.steps = steps;
  return out;
}

TimePoint at(int second) {
  return TimePoint{} + seconds(second);
}

TEST(ProgressWatch, StallsAreMeasuredFromTheLastProgress) {
  ProgressWatch watch(false);
  EXPECT_EQ(watch.stalled(0, stats(0, 4), at(1'000)), Duration{}) << "nothing to do is no stall";
  watch.starting(0, at(5'000));
  EXPECT_EQ(watch.stalled(1, stats(0, 4), at(5'007)), seconds(7)) << "not from before there was work";
  watch.starting(1, at(5'008));
  EXPECT_EQ(watch.stalled(2, stats(0, 4), at(5'009)), seconds(9)) << "more work is no progress";
  EXPECT_EQ(watch.stalled(2, stats(2, 5), at(5'010)), Duration{});
  EXPECT_EQ(watch.stalled(2, stats(2, 5), at(5'012)), seconds(2));
  EXPECT_EQ(watch.stalled(0, stats(0, 5), at(5'100)), Duration{}) << "all is done";
}

TEST(ProgressWatch, AStaticBatchMayWait) {
  ProgressWatch watch(true);
  watch.starting(0, at(0));
  EXPECT_EQ(watch.stalled(1, stats(0, 0), at(100)), Duration{});
  EXPECT_EQ(watch.stalled(1, stats(1, 0), at(200)), seconds(100));
}

}  // namespace
}  // namespace brio::server
