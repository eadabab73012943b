// Grammars through the whole engine: whatever the model wants, the text matches; what a request draws does not depend on
// its neighbours, on preemption or on what others have asked for.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "engine/sampler.h"
#include "engine/testing/byte_tokenizer.h"
#include "engine/testing/rig.h"
#include "grammar/compile.h"

namespace brio::engine {
namespace {

using grammar::CompiledGrammar;
using grammar::GrammarKind;
using testing::byte_tokenizer;
using testing::greedy_request;
using testing::HashModelShape;
using testing::kEndToken;
using testing::Rig;

const tokenizer::Tokenizer& vocabulary() {
  static const auto tokenizer = byte_tokenizer();
  return *tokenizer;
}

std::shared_ptr<const CompiledGrammar> compiled(const std::string& text, GrammarKind kind = GrammarKind::kRegex) {
  static const auto trie = grammar::TokenTrie::create(vocabulary());
  auto grammar = grammar::compile({kind, text}, trie);
  EXPECT_TRUE(grammar.ok()) << grammar.error().message;
  return *grammar;
}

bool matches(const std::shared_ptr<const CompiledGrammar>& grammar, const std::string& text) {
  grammar::Matcher matcher(grammar);
  return matcher.accept_bytes(text) && matcher.is_complete();
}

HashModelShape shape() {
  HashModelShape shape;
  shape.vocab = 320;  // logits beyond the vocabulary, as some models pad them
  return shape;
}

GenerateRequest request(const std::string& text, std::optional<uint64_t> seed, int max_tokens = 60) {
  GenerateRequest out = greedy_request({1, 2, 3}, max_tokens);
  out.grammar = compiled(text);
  if (seed) {
    out.sampling.temperature = 1.5F;
    out.sampling.seed = seed;
  }
  return out;
}

TEST(EngineGrammar, WhateverIsDrawnMatches) {
  Rig rig({}, shape(), {64, 16}, &vocabulary());
  for (const char* text :
       {"(yes|no|not sure)!", "[a-z]{3,12}", "\\d{4}-\\d{2}", "\\{\"k\": (true|\"[^\"]{0,9}\")\\}", "x"}) {
    std::vector<std::shared_ptr<testing::RecordingSink>> sinks;
    for (uint64_t seed = 0; seed < 12; ++seed) {
      GenerateRequest one = request(text, seed == 0 ? std::nullopt : std::optional(seed));
      one.n = 1 + static_cast<int>(seed % 3);
      one.sampling.top_p = seed % 4 == 1 ? 0.5F : 1.0F;
      one.sampling.top_k = seed % 4 == 2 ? 5 : 0;
      one.sampling.min_p = seed % 4 == 3 ? 0.1F : 0.0F;
      one.sampling.repetition_penalty = seed % 5 == 0 ? 1.5F : 1.0F;
      sinks.push_back(rig.submit(one));
    }
    rig.run();
    for (const auto& sink : sinks) {
      EXPECT_EQ(sink->end->reason, FinishReason::kStop);
      for (const auto& [index, choice] : sink->choices)
        EXPECT_TRUE(matches(compiled(text), choice.text)) << choice.text;
    }
  }
}

TEST(EngineGrammar, OnlyMaxTokensCutsIt) {
  Rig rig({}, shape(), {64, 16}, &vocabulary());
  const auto cut = rig.submit(request("[a-z]{20}", 1, 7));
  rig.run();
  EXPECT_EQ(cut->end->reason, FinishReason::kLength);
  EXPECT_EQ(cut->choices[0].text.size(), 7U);
  EXPECT_TRUE(grammar::Matcher(compiled("[a-z]{20}")).accept_bytes(cut->choices[0].text));
  const auto fits = rig.submit(request("[a-z]{7}", 1, 7));  // nothing is left to say: no end token is waited for
  rig.run();
  EXPECT_EQ(fits->end->reason, FinishReason::kStop);
  EXPECT_EQ(fits->end->usage.completion_tokens, 7);
}

TEST(EngineGrammar, NeighboursAndPreemptionChangeNothing) {
  const auto run = [](int neighbours, bool preempts) {
    EngineOptions options;
    if (preempts) options.kv_blocks = 3;
    Rig rig(options, shape(), {64, 16}, &vocabulary());
    GenerateRequest one = request("([a-z]{5,6} ){6,7}\\.", 7, 55);
    one.n = preempts ? 1 : 2;
    const auto sink = rig.submit(one);
    for (int i = 0; i < neighbours; ++i) rig.submit(request(i % 2 == 0 ? "[0-9]+" : "([a-z]{5,6} ){6,7}\\.", i, 40));
    rig.run();
    if (preempts) {
      EXPECT_GT(rig.engine->stats().preemptions, 0);
    }
    return sink->choices[0].text;
  };
  const std::string alone = run(0, false);
  EXPECT_TRUE(matches(compiled("([a-z]{5,6} ){6,7}\\."), alone)) << alone;
  EXPECT_EQ(run(5, false), alone);
  EXPECT_EQ(run(3, true), alone);
}

TEST(EngineGrammar, LogprobsAreTheModelsOwn) {
  Rig rig({}, shape(), {64, 16}, &vocabulary());
  GenerateRequest free = greedy_request({1, 2, 3}, 1);
  free.sampling.logprobs = 3;
  const auto plain = rig.submit(free);
  GenerateRequest bound = request("[a-z]", std::nullopt);
  bound.sampling.logprobs = 3;
  const auto masked = rig.submit(bound);
  rig.run();
  const auto& top = [](const auto& sink) { return sink->choices[0].logprobs[0]->top; };
  ASSERT_EQ(top(plain).size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(top(plain)[i].token, top(masked)[i].token);
    EXPECT_EQ(top(plain)[i].logprob, top(masked)[i].logprob);
  }
}

TEST(EngineGrammar, MinTokensGivesWayWhereTheTextHasEnded) {
  Rig rig({}, shape(), {64, 16}, &vocabulary());
  GenerateRequest one = request("a{0,5}", 3);
  one.min_tokens = 5;
  const auto sink = rig.submit(one);
  GenerateRequest two = request("(a|ab)", 3);
  two.min_tokens = 9;
  const auto other = rig.submit(two);
  rig.run();
  EXPECT_EQ(sink->choices[0].text, "aaaaa");
  EXPECT_EQ(other->choices[0].text, "ab");
  EXPECT_EQ(other->end->reason, FinishReason::kStop);
}

TEST(EngineGrammar, IgnoringTheEndContradictsIt) {
  Rig rig({}, shape(), {64, 16}, &vocabulary());
  GenerateRequest one = request("a", 1);
  one.ignore_eos = true;
  const auto refused = rig.engine->submit(one, std::make_shared<testing::RecordingSink>());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message.find("ignore_eos"), 0U);
}

// Against the plain rule: a draw under a mask is the draw of a row that has nothing else.
TEST(Sampler, AMaskIsARowOfWhatItAllows) {
  Rng rng(5);
  const auto grammar = compiled("[b-dx]|zz");
  for (int round = 0; round < 200; ++round) {
    std::vector<float> logits(320);
    for (float& logit : logits) logit = rng.uniform(-5.0F, 5.0F);
    std::vector<float> bare(logits.size(), -1e30F);
    for (const char c : std::string("bcdxz")) bare[static_cast<size_t>(c)] = logits[static_cast<size_t>(c)];
    SamplingParams sampling;
    sampling.temperature = round % 3 == 0 ? 0.0F : 1.0F;
    sampling.top_p = round % 3 == 1 ? 0.6F : 1.0F;
    const NoiseKey noise{static_cast<uint64_t>(round), 0, 1, 0};
    const grammar::Matcher matcher(grammar);
    Sampler sampler;
    const auto masked = sampler.draw(logits, {&sampling, nullptr, {}, noise, &matcher});
    const auto plain = sampler.draw(bare, {&sampling, nullptr, {}, noise});
    ASSERT_TRUE(masked.ok() && plain.ok());
    EXPECT_EQ(masked->token, plain->token) << round;
  }
}

}  // namespace
}  // namespace brio::engine
