#include "server/vocabulary.h"

#include "weights/gguf.h"

namespace brio::server {
namespace {

using tokenizer::TokenizerSpec;
using weights::Metadata;

Result<std::vector<std::string>> read_strings(const Metadata& metadata, std::string_view key) {
  if (!metadata.has(key)) return std::vector<std::string>();
  BRIO_TRY(const std::vector<std::string_view> views, metadata.strings(key));
  return std::vector<std::string>(views.begin(), views.end());
}

Result<int32_t> read_id(const Metadata& metadata, std::string_view key, size_t vocab) {
  if (!metadata.has(key)) return -1;
  BRIO_TRY(const int64_t id, metadata.i64(key));
  if (id == -1 || id == 0xFFFFFFFF) return -1;  // some writers spell "none" this way
  if (id < 0 || id >= static_cast<int64_t>(vocab)) {
    return error(ErrorCode::kInvalidFile, "key '{}' is {} (byte {}), outside the vocabulary of {} tokens", key, id,
                 metadata.find(key)->offset, vocab);
  }
  return static_cast<int32_t>(id);
}

Result<std::optional<bool>> read_flag(const Metadata& metadata, std::string_view key) {
  if (!metadata.has(key)) return std::optional<bool>();
  BRIO_TRY(const bool value, metadata.boolean(key));
  return std::optional<bool>(value);
}

Result<void> read_types(const Metadata& metadata, TokenizerSpec& spec) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  if (!metadata.has(kKey)) return {};
  BRIO_TRY(const std::vector<int64_t> types, metadata.integers(kKey));
  spec.types.reserve(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] < 0 || types[i] > 6) {
      return error(ErrorCode::kInvalidFile, "key '{}' (byte {}) holds {} for token {}, expected 1 to 6", kKey,
                   metadata.find(kKey)->offset, types[i], i);
    }
    spec.types.push_back(static_cast<tokenizer::TokenType>(types[i] == 0 ? 1 : types[i]));
  }
  return {};
}

// All the ids that end generation, where the model lists several.
Result<void> read_stop_ids(const Metadata& metadata, TokenizerSpec& spec) {
  constexpr std::string_view kKey = "tokenizer.ggml.eos_token_ids";
  if (!metadata.has(kKey)) return {};
  BRIO_TRY(const std::vector<int64_t> ids, metadata.integers(kKey));
  for (const int64_t id : ids) {
    if (id >= 0 && id < static_cast<int64_t>(spec.tokens.size())) {
      spec.extra_stop_ids.push_back(static_cast<int32_t>(id));
    }
  }
  return {};
}

Result<void> read_roles(const Metadata& metadata, TokenizerSpec& spec) {
  const struct {
    std::string_view key;
    int32_t* id;
  } roles[] = {
      {"tokenizer.ggml.bos_token_id", &spec.bos},     {"tokenizer.ggml.eos_token_id", &spec.eos},
      {"tokenizer.ggml.unknown_token_id", &spec.unk}, {"tokenizer.ggml.seperator_token_id", &spec.sep},
      {"tokenizer.ggml.padding_token_id", &spec.pad}, {"tokenizer.ggml.cls_token_id", &spec.cls},
      {"tokenizer.ggml.eot_token_id", &spec.eot},     {"tokenizer.ggml.eom_token_id", &spec.eom},
  };
  for (const auto& role : roles) {
    BRIO_TRY(*role.id, read_id(metadata, role.key, spec.tokens.size()));
  }
  return read_stop_ids(metadata, spec);
}

Result<TokenizerSpec> read_gguf(const Metadata& metadata) {
  TokenizerSpec spec;
  BRIO_TRY(const std::string_view model, metadata.string("tokenizer.ggml.model"));
  BRIO_TRY(const std::string_view pre, metadata.string_or("tokenizer.ggml.pre", ""));
  spec.model = model;
  spec.pre = pre;
  BRIO_TRY(spec.tokens, read_strings(metadata, "tokenizer.ggml.tokens"));
  BRIO_TRY(spec.merges, read_strings(metadata, "tokenizer.ggml.merges"));
  if (metadata.has("tokenizer.ggml.scores")) {
    BRIO_TRY(spec.scores, metadata.floats("tokenizer.ggml.scores"));
  }
  BRIO_TRY_OK(read_types(metadata, spec));
  BRIO_TRY_OK(read_roles(metadata, spec));
  BRIO_TRY(spec.add_bos, read_flag(metadata, "tokenizer.ggml.add_bos_token"));
  BRIO_TRY(spec.add_eos, read_flag(metadata, "tokenizer.ggml.add_eos_token"));
  BRIO_TRY(spec.add_space_prefix, read_flag(metadata, "tokenizer.ggml.add_space_prefix"));
  BRIO_TRY(spec.lowercase, read_flag(metadata, "tokenizer.ggml.normalizer.lowercase"));
  BRIO_TRY(spec.strip_accents, read_flag(metadata, "tokenizer.ggml.normalizer.strip_accents"));
  return spec;
}

}  // namespace

Result<TokenizerSpec> read_vocabulary(const weights::Checkpoint& checkpoint) {
  if (!checkpoint.is_folder()) {
    if (!checkpoint.metadata().has("tokenizer.ggml.tokens")) {
      return error(ErrorCode::kUnsupported, "{}: holds no vocabulary (key 'tokenizer.ggml.tokens')",
                   checkpoint.path().string());
    }
    auto spec = read_gguf(checkpoint.metadata());
    if (!spec.ok()) return weights::in_file(checkpoint.path(), std::move(spec).error());
    return spec;
  }
  BRIO_TRY(const std::string vocabulary, checkpoint.folder_file("tokenizer.json"));
  std::string roles;
  if (auto text = checkpoint.folder_file("tokenizer_config.json"); text.ok()) {
    roles = std::move(text).value();
  } else if (text.error().code != ErrorCode::kNotFound) {
    return std::move(text).error();
  }
  BRIO_TRY(TokenizerSpec spec, tokenizer::spec_from_tokenizer_json(vocabulary, roles));
  BRIO_TRY_OK(read_stop_ids(checkpoint.metadata(), spec));  // from generation_config.json
  return spec;
}

}  // namespace brio::server
