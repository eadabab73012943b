// TokenizerSpec: everything a vocabulary says, as plain data. Filled by the caller from GGUF metadata (key names in the
// comments), or by spec_from_tokenizer_json from Hugging Face files. Tokenizer::create checks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brio::tokenizer {

enum class TokenType : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };  // GGUF's numbers

struct TokenizerSpec {
  // tokenizer.ggml.model: "gpt2" byte-level BPE, "llama" SentencePiece BPE driven by scores, "bert" WordPiece, "gemma4"
  // BPE over characters with byte fallback (spaces are U+2581; also what tokenizer.json files of SentencePiece models
  // hold).
  std::string model;
  std::string pre;                  // tokenizer.ggml.pre: names the pretokenizer of byte-level BPE, "qwen2"
  std::vector<std::string> tokens;  // tokenizer.ggml.tokens, the index is the id
  std::vector<float> scores;        // tokenizer.ggml.scores, empty or one per token; needed by "llama"
  std::vector<TokenType> types;     // tokenizer.ggml.token_type, empty (all normal) or one per token
  std::vector<std::string> merges;  // tokenizer.ggml.merges, "left right", best first; needed by "gpt2" and "gemma4"

  int32_t bos = -1;                     // tokenizer.ggml.bos_token_id; -1 where the vocabulary has none
  int32_t eos = -1;                     // eos_token_id
  int32_t unk = -1;                     // unknown_token_id
  int32_t sep = -1;                     // seperator_token_id (GGUF's spelling)
  int32_t pad = -1;                     // padding_token_id
  int32_t cls = -1;                     // cls_token_id; WordPiece opens with it, bos where it is absent
  int32_t eot = -1;                     // eot_token_id, end of turn
  int32_t eom = -1;                     // eom_token_id, end of message
  std::vector<int32_t> extra_stop_ids;  // more ids that end generation (eos lists of generation_config.json)

  // Absent keys stay empty: the default then depends on model and pre, as in the engines that write these files.
  std::optional<bool> add_bos;           // tokenizer.ggml.add_bos_token
  std::optional<bool> add_eos;           // add_eos_token
  std::optional<bool> add_space_prefix;  // add_space_prefix ("llama": true)
  std::optional<bool> lowercase;         // normalizer.lowercase ("bert": true)
  std::optional<bool> strip_accents;     // normalizer.strip_accents ("bert": as lowercase)
  std::optional<bool> ignore_merges;     // a word that is a token is not merged up (default by pre: llama-bpe, tekken)

  // Special tokens that swallow the white space before or after them (Phi-3's turn markers: right).
  std::vector<int32_t> strip_left_ids;
  std::vector<int32_t> strip_right_ids;

  // Only from tokenizer.json, where the file spells them out; empty or false for GGUF.
  std::vector<std::string> pre_patterns;    // split expressions applied in order, instead of those that `pre` names
  bool normalize_nfc = false;               // Unicode NFC before pretokenising
  bool space_prefix_only_at_start = false;  // add_space_prefix at the start of the text, not after special tokens
  bool space_prefix_unless_space = false;   // add_space_prefix only to text that does not begin with a space
};

// Reads Hugging Face's tokenizer.json; tokenizer_config_json may be empty (then: no bos, eos and so on by role).
// Errors: kInvalidFile names the field at fault, kUnsupported names the part of the pipeline that brio does not know.
Result<TokenizerSpec> spec_from_tokenizer_json(std::string_view tokenizer_json, std::string_view tokenizer_config_json);

}  // namespace brio::tokenizer
