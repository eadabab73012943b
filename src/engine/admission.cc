#include "engine/admission.h"

#include <algorithm>
#include <cmath>

namespace brio::engine {
namespace {

template <typename Number>
Error invalid(std::string_view field, Number value, std::string_view range) {
  return error(ErrorCode::kInvalidArgument, "{} is {}, allowed is {}", field, value, range);
}

Result<void> check_range(std::string_view field, float value, float low, float high) {
  if (value >= low && value <= high) return {};  // false for NaN
  return invalid(field, value, fmt::format("{} to {}", low, high));
}

Result<void> check_tokens(std::string_view field, const std::vector<int32_t>& tokens, int vocab) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab) {
      return error(ErrorCode::kInvalidArgument, "{}[{}] is token {}, the vocabulary has 0 to {}", field, i, tokens[i],
                   vocab - 1);
    }
  }
  return {};
}

Result<void> check_sampling(const SamplingParams& sampling, int vocab) {
  BRIO_TRY_OK(check_range("temperature", sampling.temperature, 0.0F, 100.0F));
  BRIO_TRY_OK(check_range("top_p", sampling.top_p, 0.0F, 1.0F));
  if (sampling.top_p == 0.0F) return invalid("top_p", 0, "more than 0, up to 1");
  BRIO_TRY_OK(check_range("min_p", sampling.min_p, 0.0F, 1.0F));
  if (sampling.top_k < 0) return invalid("top_k", sampling.top_k, "0 (all) or more");
  BRIO_TRY_OK(check_range("repetition_penalty", sampling.repetition_penalty, 0.01F, 100.0F));
  BRIO_TRY_OK(check_range("frequency_penalty", sampling.frequency_penalty, -2.0F, 2.0F));
  BRIO_TRY_OK(check_range("presence_penalty", sampling.presence_penalty, -2.0F, 2.0F));
  if (sampling.logprobs < -1 || sampling.logprobs > kMaxLogprobs) {
    return invalid("logprobs", sampling.logprobs, fmt::format("0 to {}", kMaxLogprobs));
  }
  for (const LogitBias& bias : sampling.logit_bias) {
    if (bias.token < 0 || bias.token >= vocab) {
      return error(ErrorCode::kInvalidArgument, "logit_bias names token {}, the vocabulary has 0 to {}", bias.token,
                   vocab - 1);
    }
    BRIO_TRY_OK(check_range(fmt::format("logit_bias of token {}", bias.token), bias.bias, -100.0F, 100.0F));
  }
  return {};
}

Result<void> check_stops(const GenerateRequest& request, const AdmissionLimits& limits) {
  BRIO_TRY_OK(check_tokens("stop_token_ids", request.stop_token_ids, limits.vocab));
  if (request.stop.size() > kMaxStops) {
    return error(ErrorCode::kInvalidArgument, "stop has {} strings, the most is {}", request.stop.size(), kMaxStops);
  }
  if (!request.stop.empty() && !limits.has_text) {
    return error(ErrorCode::kInvalidArgument, "stop needs a tokenizer, this engine has none");
  }
  for (size_t i = 0; i < request.stop.size(); ++i) {
    const std::string& stop = request.stop[i];
    if (stop.empty() || stop.size() > kMaxStopBytes) {
      return error(ErrorCode::kInvalidArgument, "stop[{}] has {} bytes, allowed is 1 to {}", i, stop.size(),
                   kMaxStopBytes);
    }
    if ((static_cast<unsigned char>(stop[0]) & 0xC0U) == 0x80U) {
      return error(ErrorCode::kInvalidArgument, "stop[{}] begins in the middle of a UTF-8 character", i);
    }
  }
  return {};
}

Result<int> check_lengths(const GenerateRequest& request, const AdmissionLimits& limits) {
  const size_t prompt = request.prompt.size();
  const int most = std::min(limits.context, limits.kv_tokens);
  const std::string holder = limits.context <= limits.kv_tokens
                                 ? fmt::format("the context is {} tokens", limits.context)
                                 : fmt::format("the KV cache holds {} tokens", limits.kv_tokens);
  const bool generates = request.max_tokens.value_or(1) > 0;
  if (prompt + (generates ? 1 : 0) > static_cast<size_t>(most)) {
    // Coding agents look for these words and then shorten the conversation.
    return error(ErrorCode::kContextLengthExceeded, "prompt is too long: {} tokens > {} maximum ({}{})", prompt,
                 most - (generates ? 1 : 0), holder, generates ? ", one of them for an answer" : "");
  }
  const int room = most - static_cast<int>(prompt);
  if (request.max_tokens && *request.max_tokens > room) {
    return error(ErrorCode::kContextLengthExceeded, "{}, asked for are {}: a prompt of {} and max_tokens {}", holder,
                 prompt + static_cast<size_t>(*request.max_tokens), prompt, *request.max_tokens);
  }
  return request.max_tokens.value_or(room);
}

}  // namespace

Result<int> admit(const GenerateRequest& request, const AdmissionLimits& limits) {
  if (request.prompt.empty()) return error(ErrorCode::kInvalidArgument, "the prompt has no tokens");
  if (request.n < 1 || request.n > limits.max_sequences) {
    return invalid("n", request.n, fmt::format("1 to {} (sequences that run at once)", limits.max_sequences));
  }
  if (request.max_tokens && *request.max_tokens < 0) return invalid("max_tokens", *request.max_tokens, "0 or more");
  BRIO_TRY(const int max_tokens, check_lengths(request, limits));
  if (request.min_tokens < 0 || request.min_tokens > max_tokens) {
    return invalid("min_tokens", request.min_tokens, fmt::format("0 to max_tokens, {}", max_tokens));
  }
  if (request.prompt_logprobs < -1 || request.prompt_logprobs > kMaxLogprobs) {
    return invalid("prompt_logprobs", request.prompt_logprobs, fmt::format("0 to {}", kMaxLogprobs));
  }
  BRIO_TRY_OK(check_tokens("prompt", request.prompt, limits.vocab));
  BRIO_TRY_OK(check_sampling(request.sampling, limits.vocab));
  BRIO_TRY_OK(check_stops(request, limits));
  if (request.grammar && request.ignore_eos) {
    return error(ErrorCode::kInvalidArgument, "ignore_eos contradicts a grammar, which says where the text ends");
  }
  return max_tokens;
}

}  // namespace brio::engine
