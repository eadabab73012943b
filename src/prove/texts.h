// Texts: what a proof asks the model: random ids and real text, with lengths around every block, tile and split boundary,
// greedy and sampled, one choice and several.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "prove/setup.h"

namespace brio::prove {

// The longest prompt has to be longer than this: rows need prompts of several blocks.
inline constexpr int kShortestLongest = 96;

// Some answers grow by more than a block.
inline constexpr int kLongAnswer = 40;

struct TextOptions {
  int count = 24;
  int longest = 140;  // prompt
  int past_split = 0;  // so many texts, the last ones, reach into attention's second split of tokens, whatever `longest` is
  int most_tokens = 12;
  int vocab = 0;
  uint64_t seed = 1;
};

// real: ids of real text, may be empty; prompts of text are cut from it.
std::vector<Text> make_texts(const TextOptions& options, std::span<const int32_t> real);

inline bool is_sampled(const Text& text) {
  return text.sampling.temperature > 0.0F;
}
// Whether a choice goes on as it did when its tokens come with the prompt of a request for one: noise is drawn by choice,
// and penalties tell the tokens of an answer from a prompt's.
bool goes_on_when_given(const Text& text, int choice);

}  // namespace brio::prove
