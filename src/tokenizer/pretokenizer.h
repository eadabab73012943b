// Pretokenizer: cuts ordinary text into the words that byte-pair merging never crosses. A pretokenizer is a list of
// stages; each cuts every piece of the stage before it at the ends of its matches (Hugging Face calls this Split,
// "isolated"). Immutable, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/regex.h"

namespace brio::tokenizer {

// What a name in tokenizer.ggml.pre stands for (pretokenizer_table.cc).
struct PretokenizerRecipe {
  std::span<const std::string_view> stages;  // expressions, or one of the kDigits... below
  bool ignore_merges = false;                // a word that is a token is not merged up
  bool add_bos = false;                      // where tokenizer.ggml.add_bos_token is absent
};
Result<PretokenizerRecipe> find_recipe(std::string_view name);  // kUnsupported lists the known names

// Stages that are not expressions: digit runs cut into threes from the right ("1 234 567"), which as an expression
// needs a look-ahead to the end of the run at every step and takes quadratic time.
inline constexpr std::string_view kDigitsInThrees = "digits in threes";  // runs are set apart
inline constexpr std::string_view kThreesInDigits = "threes in digits";  // only cuts before threes
inline constexpr std::string_view kWordDigitsInThrees =
    "digits in threes at word ends";  // only runs that no letter follows

class Pretokenizer {
 public:
  static Result<Pretokenizer> create(std::span<const std::string_view> stages);

  // Replaces `ends` by the end offset of every piece, ascending, the last one text.size(). `text` is valid UTF-8.
  Result<void> split(std::string_view text, RegexScratch& scratch, std::vector<size_t>& ends) const;

 private:
  struct Stage {
    std::string_view native;  // empty: the expression
    Regex regex;
  };
  static Result<void> cut(const Stage& stage, std::string_view piece, size_t base, RegexScratch& scratch,
                          std::vector<size_t>& ends);
  std::vector<Stage> stages_;
};

}  // namespace brio::tokenizer
