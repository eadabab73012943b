#include "prove/texts.h"

#include <algorithm>

#include "engine/sequence.h"
#include "kernels/attention.h"
#include "tensor/kv_layout.h"

namespace brio::prove {
namespace {

// Lengths with a boundary at, just before and just after them; ascending. Tiles of linear layers are up to 8 rows, those
// of attention 6; blocks hold 32 tokens, splits 256.
std::vector<int> boundary_lengths(int longest) {
  std::vector<int> lengths;
  for (const int step : {4, kernels::kAttentionRows, 8, 16, tensor::kBlockTokens, kernels::kSplitTokens}) {
    const int most = step < tensor::kBlockTokens ? tensor::kBlockTokens : longest;
    for (int boundary = step; boundary <= most + 1; boundary += step) {
      for (const int length : {boundary - 1, boundary, boundary + 1}) lengths.push_back(length);
    }
  }
  lengths.push_back(1);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::erase_if(lengths, [&](int length) { return length < 1 || length > longest; });
  return lengths;
}

// Every sixth text is sampled one way, every sixth another, the rest are greedy.
void choose_sampling(int index, uint64_t seed, Text& text) {
  text.sampling.temperature = 0.0F;
  switch (index % 6) {
    case 1:  // choices of one prompt, with all that counts tokens; every other so hot that noise decides in any model
      text.n = 3;
      text.sampling.temperature = index % 12 == 1 ? 30.0F : 0.9F;
      text.sampling.top_p = 0.9F;
      text.sampling.repetition_penalty = 1.1F;
      text.sampling.frequency_penalty = 0.3F;
      text.sampling.presence_penalty = 0.2F;
      break;
    case 3:
      text.n = 2;
      break;
    case 4:
      text.sampling.temperature = 1.1F;
      text.sampling.top_k = 40;
      text.sampling.min_p = 0.02F;
      break;
    default:
      break;
  }
  if (is_sampled(text)) text.sampling.seed = seed;
}

}  // namespace

std::vector<Text> make_texts(const TextOptions& options, std::span<const int32_t> real) {
  Rng rng(options.seed);
  const std::vector<int> lengths = boundary_lengths(options.longest);
  std::vector<Text> texts;
  for (int i = 0; i < options.count; ++i) {
    Text text;
    // evenly over the lengths: short ones are as likely as long ones
    const size_t count = lengths.size();
    const size_t from = static_cast<size_t>(i) * count / static_cast<size_t>(options.count);
    const size_t to = std::max(from + 1, static_cast<size_t>(i + 1) * count / static_cast<size_t>(options.count));
    int length = lengths[from + rng.below(static_cast<uint32_t>(to - from))];
    if (i >= options.count - options.past_split) length = kernels::kSplitTokens + 1;
    if (i % 2 == 0 && static_cast<size_t>(length) <= real.size()) {
      const uint32_t begin = rng.below(static_cast<uint32_t>(real.size() - static_cast<size_t>(length) + 1));
      text.prompt.assign(real.begin() + begin, real.begin() + begin + length);
    } else {
      for (int k = 0; k < length; ++k) {
        text.prompt.push_back(static_cast<int32_t>(rng.below(static_cast<uint32_t>(options.vocab))));
      }
    }
    text.max_tokens = 2 + static_cast<int>(rng.below(static_cast<uint32_t>(options.most_tokens - 1)));
    if (i % 12 == 8) text.max_tokens = kLongAnswer;
    choose_sampling(i, options.seed + static_cast<uint64_t>(i), text);
    texts.push_back(std::move(text));
  }
  return texts;
}

bool goes_on_when_given(const Text& text, int choice) {
  return !engine::has_penalties(text.sampling) && (choice == 0 || !is_sampled(text));
}

}  // namespace brio::prove
