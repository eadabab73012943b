// TimedOps hands everything through and counts only while it is on.
#include "bench/timed_ops.h"

#include <gtest/gtest.h>

#include "ops/null_ops.h"

namespace brio::bench {
namespace {

// A millisecond passes whenever somebody looks.
class TickingClock final : public Clock {
 public:
  TimePoint now() const override { return now_ += std::chrono::milliseconds(1); }

 private:
  mutable TimePoint now_{};
};

TEST(TimedOps, AddsUpTimeAndCallsByOperationAndShape) {
  const TickingClock clock;
  TimedOps ops(std::make_unique<ops::NullOps>(), clock);
  auto x = std::move(ops.make_rows(4, 64)).value();
  auto act = std::move(ops.make_activation(4, 64, tensor::InputForms::kS8)).value();
  auto q = std::move(ops.make_rows(4, 48)).value();
  const tensor::Vector norm(std::vector<float>(64, 1.0F));
  const tensor::Weight weight = tensor::Weight::null(48, 64);
  const tensor::Weight square = tensor::Weight::null(64, 64);
  const ops::LinearTask one{&weight, nullptr, &q};
  const ops::LinearTask two[] = {{&weight, nullptr, &q}, {&square, nullptr, &x}};
  const auto step = [&] {
    ops.norm(x, 4, norm, 1e-6F, act);
    ops.linear(act, 4, {&one, 1});
    ops.linear(act, 4, {&one, 1});
    ops.linear(act, 4, two);
    ops.norm_add(x, 4, norm, 1e-6F, x);
  };
  step();
  EXPECT_TRUE(ops.totals().empty()) << "it is off";
  ops.start();
  step();
  ops.stop();
  step();
  const TimedOps::Totals& totals = ops.totals();
  ASSERT_EQ(totals.size(), 4U);
  EXPECT_EQ(totals.at("linear 48x64").calls, 2);
  EXPECT_EQ(totals.at("linear 48x64").time, std::chrono::milliseconds(2));
  EXPECT_EQ(totals.at("linear 112x64").calls, 1);
  EXPECT_TRUE(totals.at("linear 112x64").is_linear);
  EXPECT_TRUE(totals.at("norm, quantise").is_linear);
  EXPECT_FALSE(totals.at("post-norm, add").is_linear);
  EXPECT_EQ(ops.weight_passes(), 3 * 4);
  ops.start();
  EXPECT_TRUE(ops.totals().empty()) << "starting anew forgets";
}

}  // namespace
}  // namespace brio::bench
