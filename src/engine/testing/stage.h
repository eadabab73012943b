// Stage: a model on the null device for the histories of one test, and a count of what they came across, so that a test
// can tell that its histories did what they are here for. For tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <ostream>
#include <vector>

#include "engine/scheduler.h"
#include "engine/testing/byte_tokenizer.h"
#include "engine/testing/history.h"
#include "engine/testing/null_answer.h"
#include "model/model.h"

namespace brio::engine::testing {

// One architecture on the null device.
struct Subject {
  const char* name;
  const char* architecture;
  std::vector<int> windows;  // per layer; 0: full attention
  bool has_text;             // with a tokenizer of bytes
  int histories;             // 100,000 of all subjects

  int vocab() const { return has_text ? 258 : 12; }
};
inline void PrintTo(const Subject& subject, std::ostream* out) {
  *out << subject.name;
}

// What histories of one subject share, and what they came across.
class Stage {
 public:
  explicit Stage(const Subject& subject)
      : subject(subject), tokenizer(subject.has_text ? byte_tokenizer() : nullptr), answers(subject.vocab()) {}

  model::Model& model(int max_logits) {
    std::unique_ptr<model::Model>& model = models_[max_logits];
    if (model == nullptr) model = model::build_null_model(config(), {kMaxRows, max_logits});
    return *model;
  }

  const Subject& subject;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  NullAnswers answers;

  enum AbortedWhen { kJustSubmitted, kWaiting, kPrefill, kDecoding, kPreempted, kEnded, kUnknown, kInsideAnEvent };
  static constexpr int kAbortedWhens = 8;
  int64_t num_histories = 0, num_accepted = 0, num_steps = 0, num_preempting = 0, num_forked = 0,
          num_overtaken_most = 0;
  std::array<int64_t, kAbortedWhens> num_aborted{};
  std::array<int64_t, 4> num_ended{};  // by FinishReason
  std::map<ErrorCode, int64_t> num_refused;
  double nearest_to_bound = 0.0;

  void print() const {
    fmt::print("{} histories, {} requests, {} steps\n", num_histories, num_accepted, num_steps);
    fmt::print("blocks ran out in {}, {} overtakes in {}, {} forks, several requests within {:.2f} of the bound\n",
               num_preempting, kMaxOvertakes, num_overtaken_most, num_forked, nearest_to_bound);
    fmt::print("aborts {}; ended {}", fmt::join(num_aborted, " "), fmt::join(num_ended, " "));
    for (const auto& [code, count] : num_refused) fmt::print("; {} {}", name(code), count);
    fmt::print("\n");
  }
  // The histories did what they are here for.
  void expect_variety() const {
    EXPECT_GT(num_preempting, num_histories / 20);
    EXPECT_GT(num_forked, num_histories / 20);
    EXPECT_GT(num_overtaken_most, 0);
    for (int64_t count : num_aborted) EXPECT_GT(count, 0);
    for (FinishReason reason : {FinishReason::kStop, FinishReason::kLength, FinishReason::kAbort})
      EXPECT_GT(num_ended[static_cast<size_t>(reason)], num_histories);
    EXPECT_EQ(num_refused.size(), 4U);  // too many choices, too long, too many requests, draining
  }

 private:
  model::Config config() const {
    model::Config config;
    config.architecture = subject.architecture;
    config.num_layers = static_cast<int>(subject.windows.size());
    config.hidden = config.feed_forward = 32;
    config.num_heads = 2;
    config.num_kv_heads = 1;
    config.head_dim = 16;
    config.vocab = subject.vocab();
    config.context = kContext;
    config.norm_epsilon = 1e-5F;
    config.attention_scale = 0.25F;
    config.rope.rotary_dim = config.local_rope.rotary_dim = 16;
    config.windows = subject.windows;
    return config;
  }

  std::map<int, std::unique_ptr<model::Model>> models_;  // by max_logits
};

}  // namespace brio::engine::testing
