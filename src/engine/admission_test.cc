#include "engine/admission.h"

#include <gtest/gtest.h>

#include <cmath>

namespace brio::engine {
namespace {

const AdmissionLimits kLimits{1000, 600, 64, 8, true};

GenerateRequest sound() {
  GenerateRequest request;
  request.prompt = {1, 2, 3};
  return request;
}

template <typename Change>
std::string refusal(Change change, const AdmissionLimits& limits = kLimits) {
  GenerateRequest request = sound();
  change(request);
  const Result<int> admitted = admit(request, limits);
  if (admitted.ok()) return "accepted";
  return std::string(name(admitted.error().code)) + ": " + admitted.error().message;
}

TEST(Admission, MaxTokensDefaultsToWhatIsLeft) {
  GenerateRequest request = sound();
  EXPECT_EQ(*admit(request, kLimits), 597);
  request.max_tokens = 12;
  EXPECT_EQ(*admit(request, kLimits), 12);
}

TEST(Admission, LengthErrorsNameTheNumbers) {
  EXPECT_EQ(
      refusal([](GenerateRequest& r) { r.prompt.assign(700, 1); }),
      "context_length_exceeded: prompt is too long: 700 tokens > 599 maximum (the KV cache holds 600 tokens, one of them "
      "for an answer)");
  EXPECT_EQ(
      refusal([](GenerateRequest& r) { r.max_tokens = 598; }),
      "context_length_exceeded: the KV cache holds 600 tokens, asked for are 601: a prompt of 3 and max_tokens 598");
  AdmissionLimits limits = kLimits;
  limits.context = 500;
  EXPECT_EQ(refusal([](GenerateRequest& r) { r.max_tokens = 498; }, limits),
            "context_length_exceeded: the context is 500 tokens, asked for are 501: a prompt of 3 and max_tokens 498");
  EXPECT_EQ(refusal([](GenerateRequest& r) { r.max_tokens = INT32_MAX; }).substr(0, 23), "context_length_exceeded");
}

TEST(Admission, EveryFieldIsCheckedAndNamed) {
  const auto names = [](std::string_view field, auto change) {
    const std::string message = refusal(change);
    EXPECT_TRUE(message.starts_with("invalid_argument: ") && message.find(field) != std::string::npos) << message;
  };
  names("prompt", [](GenerateRequest& r) { r.prompt.clear(); });
  names("prompt[1]", [](GenerateRequest& r) { r.prompt[1] = 64; });
  names("prompt[2]", [](GenerateRequest& r) { r.prompt[2] = -1; });
  names("n is 9", [](GenerateRequest& r) { r.n = 9; });
  names("n is 0", [](GenerateRequest& r) { r.n = 0; });
  names("max_tokens", [](GenerateRequest& r) { r.max_tokens = -1; });
  names("min_tokens", [](GenerateRequest& r) { r.max_tokens = 3, r.min_tokens = 4; });
  names("prompt_logprobs", [](GenerateRequest& r) { r.prompt_logprobs = 101; });
  names("temperature", [](GenerateRequest& r) { r.sampling.temperature = -0.1F; });
  names("temperature", [](GenerateRequest& r) { r.sampling.temperature = std::nanf(""); });
  names("temperature", [](GenerateRequest& r) { r.sampling.temperature = INFINITY; });
  names("top_p", [](GenerateRequest& r) { r.sampling.top_p = 0.0F; });
  names("top_p", [](GenerateRequest& r) { r.sampling.top_p = 1.01F; });
  names("top_k", [](GenerateRequest& r) { r.sampling.top_k = -1; });
  names("min_p", [](GenerateRequest& r) { r.sampling.min_p = 1.5F; });
  names("repetition_penalty", [](GenerateRequest& r) { r.sampling.repetition_penalty = 0.0F; });
  names("frequency_penalty", [](GenerateRequest& r) { r.sampling.frequency_penalty = 2.5F; });
  names("presence_penalty", [](GenerateRequest& r) { r.sampling.presence_penalty = -2.5F; });
  names("logprobs", [](GenerateRequest& r) { r.sampling.logprobs = 101; });
  names("logit_bias names token 64", [](GenerateRequest& r) { r.sampling.logit_bias = {{64, 1.0F}}; });
  names("logit_bias of token 5", [](GenerateRequest& r) { r.sampling.logit_bias = {{5, 101.0F}}; });
  names("stop_token_ids[0]", [](GenerateRequest& r) { r.stop_token_ids = {64}; });
  names("stop[1]", [](GenerateRequest& r) { r.stop = {"x", ""}; });
  names("stop[0]", [](GenerateRequest& r) { r.stop = {std::string(5000, 'x')}; });
  names("stop[0]", [](GenerateRequest& r) { r.stop = {"\x80x"}; });
  names("stop has 65", [](GenerateRequest& r) { r.stop.assign(65, "x"); });
  AdmissionLimits mute = kLimits;
  mute.has_text = false;
  EXPECT_NE(refusal([](GenerateRequest& r) { r.stop = {"x"}; }, mute).find("tokenizer"), std::string::npos);
}

}  // namespace
}  // namespace brio::engine
