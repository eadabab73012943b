// Tokenizer: text to token ids and back, for one vocabulary. Sits between chat (or the completions route) and the
// engine. Immutable after create(); every member may be called from any thread.
//
//   BRIO_TRY(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::create(std::move(spec)));
//   BRIO_TRY(std::vector<int32_t> ids, tokenizer->encode(chat_template.render(...), AddSpecial::kNo));
//   Detokenizer out(*tokenizer);                      // detokenizer.h: streams whole UTF-8
//
// Special tokens and provenance. Control tokens ("<|im_end|>", "<bos>", types kControl and kUnknown) are recognised
// only where a match lies wholly in allow_special text. User-defined tokens ("<tool_call>", runs of spaces:
// kUserDefined) are ordinary vocabulary and match everywhere, as Hugging Face's added tokens and llama.cpp do. Text
// between matches is pretokenised as one run whatever the piece boundaries, so honest input gets the ids of the joined
// string. Time is O(n log n) in the text for every model kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/text_piece.h"
#include "tokenizer/tokenizer_spec.h"

namespace brio::tokenizer {

enum class AddSpecial : bool { kNo, kYes };     // bos, eos, [CLS], [SEP] around the text as the vocabulary asks
enum class RenderSpecial : bool { kNo, kYes };  // control tokens become their text, or nothing
enum class Trust : bool { kUntrusted, kTrusted };

class Tokenizer {
 public:
  // Errors: kInvalidFile for a vocabulary that contradicts itself (names the field), kUnsupported for an unknown model
  // or pretokenizer (lists the known names).
  static Result<std::unique_ptr<Tokenizer>> create(TokenizerSpec spec);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Any bytes are accepted: invalid UTF-8 becomes U+FFFD, one per maximal valid prefix, as the reference tokenizers see
  // it (Python's errors="replace"). Errors: a text beyond 64 MiB, a foreign pretokenizer pattern that runs wild.
  Result<std::vector<int32_t>> encode(std::span<const TextPiece> pieces, AddSpecial add_special) const;
  Result<std::vector<int32_t>> encode(std::string_view text, Trust trust, AddSpecial add_special) const;

  // Raw bytes of one token (may be part of a character). Empty for an id outside the vocabulary.
  std::string piece(int32_t id, RenderSpecial render = RenderSpecial::kNo) const;
  // All tokens as valid UTF-8, without the space that add_space_prefix put in front.
  std::string decode(std::span<const int32_t> ids, RenderSpecial render = RenderSpecial::kNo) const;

  int32_t vocab_size() const;
  const TokenizerSpec& spec() const;  // roles (bos, eos, ...) and token spellings as given
  bool adds_bos() const;              // what AddSpecial::kYes puts in front: templates that write bos themselves ask
  bool is_control(int32_t id) const;
  bool is_end_of_generation(int32_t id) const;
  std::span<const int32_t> end_of_generation_ids() const;          // ascending
  std::optional<int32_t> find(std::string_view token_text) const;  // by the vocabulary's spelling

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace brio::tokenizer
