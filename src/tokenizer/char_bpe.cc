// BPE over characters with merges by rank, spaces as U+2581 and bytes as the fallback: gemma4's GGUF, and the form in
// which tokenizer.json files hold SentencePiece vocabularies.
#include "tokenizer/merge_table.h"
#include "tokenizer/metaspace.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/token_model.h"
#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

class CharBpe : public TokenModel {
 public:
  CharBpe(const Vocabulary& vocabulary, Pretokenizer pretokenizer, MergeTable merges)
      : vocabulary_(vocabulary), pretokenizer_(std::move(pretokenizer)), merges_(std::move(merges)) {}

  Result<void> encode(std::string_view text, bool at_start, EncodeScratch& scratch,
                      std::vector<int32_t>& out) const override {
    escape_spaces(text, prefix_wanted(vocabulary_.spec(), text, at_start), scratch.text);
    const std::string_view escaped = scratch.text;
    BRIO_TRY_OK(pretokenizer_.split(escaped, scratch.regex, scratch.ends));
    size_t begin = 0;
    for (size_t end : scratch.ends) {
      encode_word(escaped.substr(begin, end - begin), scratch, out);
      begin = end;
    }
    return {};
  }

 private:
  void encode_word(std::string_view word, EncodeScratch& scratch, std::vector<int32_t>& out) const {
    if (word[0] == '\n') {  // a run of line feeds: merges in GGUF files cannot name them, tokens can
      if (const int32_t id = vocabulary_.ordinary(word); id >= 0) return out.push_back(id);
    }
    scratch.symbols.clear();
    for (size_t i = 0; i < word.size();) {
      const size_t size = decode_utf8(word, i).size;
      scratch.symbols.push_back(
          {merges_.symbol(vocabulary_, word.substr(i, size)), static_cast<uint32_t>(i), static_cast<uint32_t>(size)});
      i += size;
    }
    scratch.merger.run(scratch.symbols, merges_);
    append_with_byte_fallback(vocabulary_, word, scratch.symbols, out);
  }

  const Vocabulary& vocabulary_;
  Pretokenizer pretokenizer_;
  MergeTable merges_;
};

}  // namespace

Result<std::unique_ptr<TokenModel>> create_char_bpe(const Vocabulary& vocabulary) {
  const TokenizerSpec& spec = vocabulary.spec();
  std::vector<std::string_view> stages(spec.pre_patterns.begin(), spec.pre_patterns.end());
  if (stages.empty()) {  // no token mixes line feeds with other characters
    BRIO_TRY(const PretokenizerRecipe recipe, find_recipe("gemma4"));
    stages.assign(recipe.stages.begin(), recipe.stages.end());
  }
  BRIO_TRY(Pretokenizer pretokenizer, Pretokenizer::create(stages));
  BRIO_TRY(MergeTable merges, MergeTable::create(vocabulary));
  return std::unique_ptr<TokenModel>(std::make_unique<CharBpe>(vocabulary, std::move(pretokenizer), std::move(merges)));
}

}  // namespace brio::tokenizer
