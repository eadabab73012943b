// The vocabulary of tiny models: 256 bytes in GPT-2's printable alphabet, four control tokens, one merge ("t" + "h"), then
// fillers that no text reaches.
#pragma once

#include <string>
#include <vector>

namespace brio::tiny {

inline constexpr int kNumBytes = 256;
inline constexpr int kNumControls = 4;  // <s>, </s>, <|im_start|>, <|im_end|>
inline constexpr int kMergedToken = kNumBytes + kNumControls;

std::vector<std::string> vocabulary(int size);  // size > kMergedToken
std::vector<std::string> merges();

// The same as Hugging Face's tokenizer.json holds it.
std::string tokenizer_json(int size);

}  // namespace brio::tiny
