// Text, stop strings and ends of generation through the whole engine.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/testing/byte_tokenizer.h"
#include "engine/testing/rig.h"

namespace brio::engine {
namespace {

using testing::byte_tokenizer;
using testing::greedy_request;
using testing::HashModelShape;
using testing::kEndToken;
using testing::Rig;

HashModelShape byte_shape() {
  HashModelShape shape;
  shape.vocab = 257;
  return shape;
}

TEST(EngineText, AStopStringAcrossTokensCutsTheTextBeforeIt) {
  const auto tokenizer = byte_tokenizer();
  Rig rig({}, byte_shape(), {64, 16}, tokenizer.get());
  const auto plain = rig.submit(greedy_request({1, 2}, 60));
  rig.run();
  const std::string text = plain->choices[0].text;
  ASSERT_GT(text.size(), 40U);
  int cut_inside_tokens = 0;
  for (size_t begin = 10; begin < 30; ++begin) {
    const std::string stop = text.substr(begin, 7);
    if ((static_cast<unsigned char>(stop[0]) & 0xC0U) == 0x80U) continue;
    GenerateRequest request = greedy_request({1, 2}, 60);
    request.stop = {stop, "no such text"};
    const auto stopped = rig.submit(request);
    rig.run();
    EXPECT_EQ(stopped->choices[0].text, text.substr(0, text.find(stop)));
    EXPECT_EQ(stopped->choices[0].end->stop_string, stop);
    EXPECT_EQ(stopped->end->reason, FinishReason::kStop);
    EXPECT_LT(stopped->end->usage.completion_tokens, 60);
    ++cut_inside_tokens;
  }
  EXPECT_GT(cut_inside_tokens, 3);
}

TEST(EngineText, HeldTextIsReleasedAtTheEnd) {
  const auto tokenizer = byte_tokenizer();
  Rig rig({}, byte_shape(), {64, 16}, tokenizer.get());
  GenerateRequest request = greedy_request({1, 2}, 20);
  const auto plain = rig.submit(request);
  rig.run();
  request.stop = {plain->choices[0].text.substr(plain->choices[0].text.size() - 1) + "never"};
  const auto held = rig.submit(request);
  rig.run();
  EXPECT_EQ(held->choices[0].text, plain->choices[0].text);
  EXPECT_FALSE(held->choices[0].end->text.empty());
  EXPECT_EQ(held->end->reason, FinishReason::kLength);
}

TEST(EngineText, EndOfGenerationStopsUnlessIgnored) {
  const auto tokenizer = byte_tokenizer();
  Rig rig({}, byte_shape(), {64, 16}, tokenizer.get());
  GenerateRequest request = greedy_request({1, 2}, 20);
  request.sampling.logit_bias = {{kEndToken, 100.0F}};
  const auto stopped = rig.submit(request);
  request.ignore_eos = true;
  const auto ignored = rig.submit(request);
  request.ignore_eos = false;
  request.min_tokens = 5;
  const auto later = rig.submit(request);
  rig.run();
  EXPECT_TRUE(stopped->choices[0].tokens.empty());
  EXPECT_EQ(stopped->choices[0].end->stop_token, kEndToken);
  EXPECT_EQ(stopped->end->usage.completion_tokens, 1);
  EXPECT_EQ(ignored->choices[0].tokens, std::vector<int32_t>(20, kEndToken));
  EXPECT_EQ(ignored->choices[0].text, "");
  EXPECT_EQ(later->choices[0].tokens.size(), 5U);
  EXPECT_EQ(later->choices[0].end->stop_token, kEndToken);
}

}  // namespace
}  // namespace brio::engine
