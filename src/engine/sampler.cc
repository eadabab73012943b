#include "engine/sampler.h"

#include <algorithm>
#include <limits>

#include "base/breaks.h"
#include "engine/sequence.h"
#include "ops/logits.h"

namespace brio::engine {
namespace {

// Below this a division by the temperature would leave the range of fp32; the draw is greedy for any real logits.
constexpr float kGreedyTemperature = 1e-5F;

bool adjusts(const DrawContext& context) {
  return !context.sampling->logit_bias.empty() || has_penalties(*context.sampling) || !context.banned.empty() ||
         context.matcher != nullptr;
}

Error not_finite() {
  return error(ErrorCode::kNumeric, "the model's logits are NaN or infinite");
}

void penalize(const SamplingParams& sampling, const TokenCounts& counts, std::span<float> logits) {
  for (const auto& [token, count] : counts.counts()) {
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit > 0.0F ? logit / sampling.repetition_penalty : logit * sampling.repetition_penalty;
    logit -= sampling.frequency_penalty * static_cast<float>(count.in_output);
    if (count.in_output > 0) logit -= sampling.presence_penalty;
  }
}

}  // namespace

std::span<const float> Sampler::adjusted(std::span<const float> logits, const DrawContext& context) {
  scratch_.assign(logits.begin(), logits.end());
  for (const LogitBias& bias : context.sampling->logit_bias) scratch_[static_cast<size_t>(bias.token)] += bias.bias;
  if (context.counts != nullptr && has_penalties(*context.sampling)) {
    penalize(*context.sampling, *context.counts, scratch_);
  }
  return scratch_;
}

// -inf wherever the grammar's mask or a ban forbids, in scratch_; its peak. A ban, which lasts until min_tokens, gives way
// where the grammar leaves nothing else: its text has ended.
Result<ops::Peak> Sampler::restrict(const DrawContext& context) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const size_t num_words = (scratch_.size() + 63) / 64;
  if (context.matcher == nullptr) {
    mask_.assign(num_words, ~uint64_t{0});
  } else {
    mask_.resize(context.matcher->num_words());
    BRIO_TRY_OK(context.matcher->mask(mask_));
    mask_.resize(num_words, 0);  // logits may be padded beyond the vocabulary
  }
  std::vector<uint64_t> unbanned = mask_;
  for (const int32_t token : context.banned)
    unbanned[static_cast<size_t>(token) >> 6] &= ~(uint64_t{1} << (token & 63));
  const bool some_left = std::any_of(unbanned.begin(), unbanned.end(), [](uint64_t word) { return word != 0; });
  if (some_left || context.matcher == nullptr) mask_.swap(unbanned);

  ops::Peak peak{-1, kNever, true};
  for (size_t w = 0; w < num_words; ++w) {
    const size_t begin = w * 64;
    const size_t end = std::min(begin + 64, scratch_.size());
    if (mask_[w] == 0) {
      std::fill(scratch_.begin() + static_cast<ptrdiff_t>(begin), scratch_.begin() + static_cast<ptrdiff_t>(end),
                kNever);
      continue;
    }
    for (size_t i = begin; i < end; ++i) {
      if ((mask_[w] >> (i - begin) & 1) == 0) {
        scratch_[i] = kNever;
      } else if (scratch_[i] > peak.value) {
        peak.value = scratch_[i];
        peak.index = static_cast<int32_t>(i);
      }
    }
  }
  if (peak.index >= 0) return peak;
  if (context.matcher != nullptr)
    return error(ErrorCode::kInvalidArgument, "the grammar allows no token of the vocabulary here");
  return error(ErrorCode::kInvalidArgument, "min_tokens is not reached and every token would stop");
}

Result<Draw> Sampler::draw(std::span<const float> logits, const DrawContext& context) {
  const SamplingParams& sampling = *context.sampling;
  const ops::Peak raw = ops::find_peak(logits);
  if (!raw.finite) return not_finite();
  ops::Peak peak = raw;
  std::span<const float> row = logits;
  if (adjusts(context)) {
    row = adjusted(logits, context);
    peak = ops::find_peak(row);
    if (!peak.finite) return not_finite();
    if (!context.banned.empty() || context.matcher != nullptr) {
      BRIO_TRY(peak, restrict(context));
    }
  }
  Draw draw{peak.index, std::nullopt};
  if (sampling.temperature >= kGreedyTemperature) {
    const float inverse = 1.0F / sampling.temperature;
    if (!filters(sampling)) {
      draw.token = gumbel_argmax(row, peak.value, inverse, context.noise);
    } else {
      filter(row, peak.value, inverse, sampling, candidates_);
      draw.token = gumbel_argmax(candidates_, context.noise);
    }
  }
  if (sampling.logprobs >= 0) draw.logprobs = logprobs(logits, raw.value, draw.token, sampling.logprobs);
  return draw;
}

Result<Logprobs> Sampler::score(std::span<const float> logits, int32_t token, int num_top) {
  const ops::Peak peak = ops::find_peak(logits);
  if (!peak.finite) return not_finite();
  return logprobs(logits, peak.value, token, num_top);
}

Logprobs Sampler::logprobs(std::span<const float> logits, float peak, int32_t token, int num_top) {
  const double log_sum = ops::log(ops::sum_exp(logits, peak, 1.0F));  // of exp(x - peak)
  const auto logprob = [&](float score) { return static_cast<float>(static_cast<double>(score) - log_sum); };
  const float own = logits[static_cast<size_t>(token)];
  Logprobs result;
  result.chosen = {token, logprob(own - peak)};
  result.rank = 1;
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool before = logits[i] > own || (logits[i] == own && static_cast<int32_t>(i) < token);
    result.rank += before ? 1 : 0;
  }
  select_top_k(logits, peak, 1.0F, num_top, candidates_);
  for (const Candidate& candidate : candidates_) result.top.push_back({candidate.token, logprob(candidate.score)});
  return result;
}

const Samples& Sampler::sample(const Plan& plan, const StepLogits& logits) {
  samples_.tokens.clear();
  samples_.prompts.clear();
  for (const Chunk& chunk : plan.chunks) {
    Sequence& sequence = *chunk.sequence;
    const Request& request = *sequence.request;
    for (int p = chunk.logits_begin; p < chunk.logits_end; ++p) {
      const std::span<const float> row = logits.row(chunk.first_logits + p - chunk.logits_begin);
      if (p + 1 < sequence.num_prompt) {
        const int32_t token = sequence.tokens[static_cast<size_t>(p) + 1];
        samples_.prompts.push_back({&sequence, p + 1, score(row, token, request.spec.prompt_logprobs)});
        continue;
      }
      for (int c = sequence.choice; c < sequence.choice + sequence.fan_out; ++c) {
        const int position = is_broken(Rule::kR6) ? chunk.first_logits + p - chunk.logits_begin : p + 1;
        const NoiseKey noise{request.seed, static_cast<uint32_t>(c), static_cast<uint32_t>(position), 0};
        const DrawContext context{&request.spec.sampling, &sequence.counts, banned(sequence), noise,
                                  sequence.matcher ? &*sequence.matcher : nullptr};
        samples_.tokens.push_back({&sequence, c, draw(row, context)});
      }
    }
  }
  return samples_;
}

}  // namespace brio::engine
