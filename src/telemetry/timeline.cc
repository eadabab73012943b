#include "telemetry/timeline.h"

#include <map>

namespace brio::telemetry {

Duration Timeline::time_per_output_token() const {
  struct Choice {
    TimePoint first, last;
    int count = 0;
  };
  std::map<int, Choice> choices;
  for (const Token& token : tokens) {
    Choice& choice = choices[token.choice];
    if (choice.count++ == 0) choice.first = token.time;
    choice.last = token.time;
  }
  Duration sum{};
  int counted = 0;
  for (const auto& [index, choice] : choices) {
    if (choice.count < 2) continue;
    sum += (choice.last - choice.first) / (choice.count - 1);
    ++counted;
  }
  return counted == 0 ? Duration{} : sum / counted;
}

}  // namespace brio::telemetry
