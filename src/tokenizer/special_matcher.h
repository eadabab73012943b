// SpecialMatcher: finds control and user-defined tokens in text, leftmost first and longest at a position. A control
// token counts only where every one of its bytes is trusted. Immutable after create(), any thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/pair_table.h"
#include "tokenizer/vocabulary.h"

namespace brio::tokenizer {

// Byte ranges of the text that may name control tokens: ascending, disjoint, not touching.
struct ByteRange {
  size_t begin, end;
};

struct Segment {
  size_t begin, end;
  int32_t id;  // -1: ordinary text
};

class SpecialMatcher {
 public:
  static Result<SpecialMatcher> create(const Vocabulary& vocabulary);

  // Cuts `text` into special tokens and the ordinary text between them (never empty). Time O(text * longest special
  // token).
  std::vector<Segment> split(std::string_view text, const std::vector<ByteRange>& trusted) const;

 private:
  struct Node {
    int32_t id = -1;  // token that ends here
    bool control = false;
    bool strip_left = false;
    bool strip_right = false;
  };
  std::bitset<256> first_;  // bytes that some special token starts with
  PairTable edges_;         // (node, byte) -> node
  std::vector<Node> nodes_;
};

}  // namespace brio::tokenizer
