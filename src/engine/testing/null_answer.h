// NullAnswer: what a request on the null device must be answered, from its tokens alone. The null device's logits are a
// function of a row's token and position, so a choice is a chain of draws without an engine. For tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/sampler.h"
#include "engine/sequence.h"
#include "ops/null_ops.h"

namespace brio::engine::testing {

struct NullAnswer {
  std::vector<int32_t> tokens;  // without the stop token
  std::optional<int32_t> stop_token;
  bool stop_string = false;
};

class NullAnswers {
 public:
  explicit NullAnswers(int vocab)
      : table_(tensor::Weight::null(vocab, vocab)), logits_(std::move(ops_.make_rows(1, vocab)).value()) {}

  // One choice. stop_ids: sorted, the ends of generation included. stop: the token of the only stop string, or -1.
  NullAnswer answer(const GenerateRequest& request, int choice, uint64_t seed, int max_tokens,
                    std::span<const int32_t> stop_ids, int32_t stop) {
    NullAnswer answer;
    const SamplingParams& sampling = request.sampling;
    TokenCounts counts;
    if (has_penalties(sampling)) {
      for (int32_t token : request.prompt) counts.add_prompt(token);
    }
    int32_t last = request.prompt.back();
    int position = static_cast<int>(request.prompt.size());
    for (int i = 0; i < max_tokens; ++i, ++position) {
      const NoiseKey noise{seed, static_cast<uint32_t>(choice), static_cast<uint32_t>(position), 0};
      const auto banned = i < request.min_tokens ? stop_ids : std::span<const int32_t>();
      last = sampler_.draw(logits_after(last, position - 1), {&sampling, &counts, banned, noise})->token;
      if (std::binary_search(stop_ids.begin(), stop_ids.end(), last)) {
        answer.stop_token = last;
        break;
      }
      answer.tokens.push_back(last);
      if (last == stop) {
        answer.stop_string = true;
        break;
      }
      if (has_penalties(sampling)) counts.add_output(last);
    }
    return answer;
  }

 private:
  std::span<const float> logits_after(int32_t token, int position) {
    ops::Row row;
    row.token = token;
    row.position = position;
    ops_.embed(table_, {&row, 1}, 1.0F, logits_);
    return ops_.read(logits_, 0);
  }

  ops::NullOps ops_;
  tensor::Weight table_;
  ops::Rows logits_;
  Sampler sampler_;
};

}  // namespace brio::engine::testing
