#include "server/model_names.h"

#include <gtest/gtest.h>

namespace brio::server {
namespace {

TEST(ModelNames, AStarStandsForAnyText) {
  const std::pair<const char*, const char*> matching[] = {{"claude-*", "claude-"},
                                                          {"claude-*", "claude-opus-5"},
                                                          {"*", ""},
                                                          {"*", "x"},
                                                          {"*-mini", "gpt-5-mini"},
                                                          {"gpt-*-mini", "gpt-5-mini"},
                                                          {"a*b*c", "aXbYbZc"},
                                                          {"**", "x"},
                                                          {"a*ab", "aab"},
                                                          {"same", "same"}};
  for (const auto& [pattern, text] : matching) EXPECT_TRUE(matches_pattern(pattern, text)) << pattern << " " << text;
  const std::pair<const char*, const char*> others[] = {{"claude-*", "claude"},
                                                        {"claude-*", "my-claude-1"},
                                                        {"*-mini", "gpt-5-minis"},
                                                        {"a*b*c", "acb"},
                                                        {"same", "sam"},
                                                        {"sam", "same"},
                                                        {"", "x"},
                                                        {"a*ab", "ab"}};
  for (const auto& [pattern, text] : others) EXPECT_FALSE(matches_pattern(pattern, text)) << pattern << " " << text;
}

TEST(ModelNames, ManyStarsTakeNoLongerThanOne) {
  std::string pattern;
  for (int i = 0; i < 1'000; ++i) pattern += "*a";
  EXPECT_FALSE(matches_pattern(pattern + "b", std::string(10'000, 'a')));
}

TEST(ModelNames, LiteralNamesComeBeforePatternsAndAreListed) {
  std::vector<api::ModelInfo> models(3);
  models[0].id = "gpt-*";
  models[1].id = "small";
  models[2].id = "gpt-5";
  EXPECT_EQ(find_model(models, "gpt-5"), &models[2]);
  EXPECT_EQ(find_model(models, "gpt-6"), &models[0]);
  EXPECT_EQ(find_model(models, ""), &models[1]) << "no name: the first that has one";
  EXPECT_EQ(find_model(models, "other"), nullptr);
  const auto listed = listed_models(models);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].id, "small");
  EXPECT_EQ(unknown_model("other", models).message,
            "'model' 'other' not found; this server has 'gpt-*', 'small', 'gpt-5'");
}

}  // namespace
}  // namespace brio::server
