// RecordingSink: keeps the events of one request and checks their order: tokens before a choice's end, one end per
// choice, one end of the request, nothing after it. For tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/events.h"

namespace brio::engine::testing {

class RecordingSink final : public EventSink {
 public:
  struct Choice {
    std::vector<int32_t> tokens;
    std::vector<std::optional<Logprobs>> logprobs;
    std::string text;
    std::optional<ChoiceEnd> end;
  };

  void on_prompt(RequestId /*request*/, const PromptEvent& event) override {
    EXPECT_FALSE(prompt.has_value());
    EXPECT_TRUE(choices.empty());
    prompt = event;
  }
  void on_token(const TokenEvent& event) override {
    EXPECT_FALSE(end.has_value());
    Choice& choice = choices[event.choice];
    EXPECT_FALSE(choice.end.has_value());
    choice.tokens.push_back(event.token);
    choice.logprobs.push_back(event.logprobs);
    choice.text += event.text;
  }
  void on_choice_end(const ChoiceEnd& event) override {
    EXPECT_FALSE(end.has_value());
    Choice& choice = choices[event.choice];
    EXPECT_FALSE(choice.end.has_value()) << "choice " << event.choice << " ended twice";
    choice.text += event.text;
    choice.end = event;
  }
  void on_end(const RequestEnd& event) override {
    EXPECT_FALSE(end.has_value()) << "request " << event.request << " ended twice";
    for (const auto& [index, choice] : choices) EXPECT_TRUE(choice.end.has_value()) << "choice " << index;
    end = event;
  }

  std::map<int, Choice> choices;
  std::optional<PromptEvent> prompt;
  std::optional<RequestEnd> end;
};

}  // namespace brio::engine::testing
