// TextStream: the text of one choice as its tokens arrive: whole UTF-8 (tokenizer/detokenizer.h) and nothing that might
// still turn out to be a stop string. Copyable: a forked choice goes on from its parent's state. Survives preemption.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/stop_matcher.h"
#include "tokenizer/detokenizer.h"

namespace brio::engine {

class TextStream {
 public:
  struct Piece {
    std::string text;                 // certain now
    std::optional<std::string> stop;  // this stop string was completed: the text has ended before it
  };

  // tokenizer null: every text is empty. shown: control tokens that are text.
  TextStream(const tokenizer::Tokenizer* tokenizer, const std::vector<std::string>& stops,
             const std::vector<int32_t>& shown = {});

  Piece append(int32_t token);
  Piece finish();  // the end without a stop string: releases what was held back

 private:
  Piece push(const std::string& text);
  std::optional<tokenizer::Detokenizer> detokenizer_;
  StopMatcher matcher_;
  std::string held_;  // its last matcher_.undecided() bytes may begin a stop string
};

}  // namespace brio::engine
