#include "telemetry/metrics.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace brio::telemetry {
namespace {

using std::chrono::milliseconds;

TimePoint at(int ms) {
  return TimePoint{} + milliseconds(1000 + ms);
}

// The value of the exposition's line that starts with `series`.
std::string value(const std::string& text, const std::string& series) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "absent";
}

Timeline example() {
  Timeline timeline;
  timeline.arrival = at(0);
  timeline.queued = at(1);
  timeline.scheduled = at(10);
  timeline.finished = at(120);
  timeline.tokens = {{0, at(30)}, {1, at(30)}, {0, at(50)}, {1, at(70)}, {0, at(70)}, {1, at(110)}};
  return timeline;
}

TEST(Timeline, LatenciesFollowTheirDefinitions) {
  const Timeline timeline = example();
  EXPECT_EQ(timeline.queue(), milliseconds(10));
  EXPECT_EQ(timeline.time_to_first_token(), milliseconds(30));
  EXPECT_EQ(timeline.end_to_end(), milliseconds(120));
  EXPECT_EQ(timeline.time_per_output_token(), milliseconds(30));  // choice 0: 20, choice 1: 40
  Timeline aborted;
  aborted.arrival = at(5);
  aborted.finished = at(9);
  EXPECT_EQ(aborted.queue(), milliseconds(4));
  EXPECT_EQ(aborted.time_to_first_token(), Duration{});
  EXPECT_EQ(aborted.time_per_output_token(), Duration{});
}

TEST(Metrics, RequestsAreCountedByReasonAndReasonsExistFromTheStart) {
  Metrics metrics("tiny");
  const std::string finished = "brio:request_finished_total{finished_reason=\"";
  EXPECT_EQ(value(metrics.exposition(), finished + "abort\",model_name=\"tiny\"}"), "0");
  const Timeline timeline = example();
  metrics.observe_request({"stop", 7, 6, &timeline});
  metrics.observe_request({"stop", 9, 6, &timeline});
  metrics.observe_request({"length", 9, 6, &timeline});
  metrics.count_refused("overloaded");
  const std::string text = metrics.exposition();
  EXPECT_EQ(value(text, finished + "stop\",model_name=\"tiny\"}"), "2");
  EXPECT_EQ(value(text, finished + "length\",model_name=\"tiny\"}"), "1");
  EXPECT_EQ(value(text, "brio:request_refused_total{model_name=\"tiny\",reason=\"overloaded\"}"), "1");
  EXPECT_EQ(value(text, "brio:time_to_first_token_seconds_count{model_name=\"tiny\"}"), "3");
  EXPECT_EQ(value(text, "brio:time_to_first_token_seconds_bucket{model_name=\"tiny\",le=\"0.02\"}"), "0");
  EXPECT_EQ(value(text, "brio:time_to_first_token_seconds_bucket{model_name=\"tiny\",le=\"0.04\"}"), "3");
}

TEST(Metrics, PooledGapsLandInTheSameBucketsAsSingleOnes) {
  Metrics metrics("tiny");
  const std::vector<double> gaps = {0.0005, 0.002, 0.02, 0.021, 1000.0};
  metrics.observe_step({.rows = 40,
                        .sequences = 5,
                        .prompt_tokens = 35,
                        .generated_tokens = 5,
                        .preemptions = 1,
                        .running = 5,
                        .waiting = 2,
                        .kv_use = 0.25,
                        .duration = milliseconds(20),
                        .inter_token_seconds = gaps});
  const std::string text = metrics.exposition();
  const auto bucket = [&](const char* bound) {
    return value(text,
                 std::string("brio:inter_token_latency_seconds_bucket{model_name=\"tiny\",le=\"") + bound + "\"}");
  };
  EXPECT_EQ(bucket("0.001"), "1");
  EXPECT_EQ(bucket("0.0025"), "2");
  EXPECT_EQ(bucket("0.02"), "3");
  EXPECT_EQ(bucket("0.025"), "4");
  EXPECT_EQ(bucket("+Inf"), "5");
  EXPECT_EQ(value(text, "brio:kv_cache_usage_perc{model_name=\"tiny\"}"), "0.25");
  EXPECT_EQ(value(text, "brio:num_requests_waiting{model_name=\"tiny\"}"), "2");
  EXPECT_EQ(value(text, "brio:prompt_tokens_total{model_name=\"tiny\"}"), "35");
  EXPECT_EQ(value(text, "brio:iteration_tokens_total_sum{model_name=\"tiny\"}"), "40");
}

}  // namespace
}  // namespace brio::telemetry
