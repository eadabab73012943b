// Checkpoint: a model on disk as model/ wants it, whether a GGUF file or a safetensors folder with config.json: named
// tensors and hyperparameters, both under GGUF names. Owned by whoever builds the model; immutable: any thread.
//
//   BRIO_TRY(Checkpoint checkpoint, Checkpoint::open(path));
//   BRIO_TRY(uint64_t layers, checkpoint.u64("block_count"));              // the key "<architecture>.block_count"
//   BRIO_TRY(TensorView q, checkpoint.tensor("blk.0.attn_q.weight"));
//   BRIO_TRY(tensor::Weight packed, pack(q, ...));
//   checkpoint.drop(q);                                                    // give the source pages back
//
// One convention whatever the source:
// - Rotary pairs are half-split, (i, i + rotary_dim / 2), for every architecture. GGUF files of architecture llama
// store
//   the rows of attn_q and attn_k (weight and bias) for interleaved pairs (2i, 2i + 1); those views are permuted
//   copies.
// - gemma3 norm weights are what the input is multiplied with, 1 + w: GGUF stores that, for safetensors it is computed.
// - No "output.weight": the head is tied to token_embd.weight (config.json's tie_word_embeddings drops lm_head too).
//
// Hyperparameters translated from config.json, beside GGUF's own keys:
//   rope.scaling.type             none, linear, yarn, or llama3 (which GGUF files express as tensor rope_freqs.weight)
//   rope.scaling.low_freq_factor, rope.scaling.high_freq_factor       llama3
//   rope.scaling.attention_factor   yarn, the whole magnitude of cos and sin (GGUF's attn_factor instead multiplies
//                                   0.1 ln(factor) + 1); absent: 0.1 ln(factor) + 1
//   rope.freq_base_swa            gemma3's rope_local_base_freq
//   attention.scale               gemma3, where query_pre_attn_scalar is not head_dim
//   attention.sliding_window and, where layers differ, attention.sliding_window_pattern: bool per layer, true = window
//   tokenizer.ggml.bos_token_id, eos_token_id, eos_token_ids (all of generation_config.json's)
// An architecture that config.json names and brio does not know is passed through with no other key: model/ refuses it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "tensor/dtype.h"
#include "weights/file_stamp.h"
#include "weights/metadata.h"

namespace brio::weights {

class Gguf;

// A matrix W [rows N, cols K], rows in order, each row whole blocks of its type. A vector is one row.
struct TensorView {
  std::string_view name;
  tensor::DType dtype = tensor::DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  const std::byte* data = nullptr;
  int64_t size_bytes = 0;
  std::shared_ptr<const AlignedBuffer> owned;  // set where data is a converted copy instead of the mapped file
};

class Checkpoint {
 public:
  // A .gguf file (any part of a split one) or a folder with config.json and safetensors.
  static Result<Checkpoint> open(const std::filesystem::path& path);
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  const std::filesystem::path& path() const;
  const std::string& architecture() const;  // "llama", ...; an unknown Hugging Face class name as it stands
  bool is_folder() const;

  // Hyperparameters. The short forms prefix the key with "<architecture>.".
  const Metadata& metadata() const;
  Result<uint64_t> u64(std::string_view key) const;
  Result<double> f64(std::string_view key) const;
  Result<uint64_t> u64_or(std::string_view key, uint64_t fallback) const;
  Result<double> f64_or(std::string_view key, double fallback) const;
  Result<std::string_view> string_or(std::string_view key, std::string_view fallback) const;
  bool has(std::string_view key) const;
  std::string full_key(std::string_view key) const;  // "<architecture>.<key>"

  struct TensorSummary {
    std::string_view name;
    tensor::DType dtype;
    std::vector<int64_t> dims;  // GGUF order: dims[0] is the row length
    int64_t size_bytes;
  };
  const std::vector<TensorSummary>& tensors() const;  // in file order
  bool has_tensor(std::string_view name) const;
  // Its type, with the shape checked as tensor() does; nothing of it is read or converted.
  Result<tensor::DType> dtype(std::string_view name, int64_t rows, int64_t cols) const;
  Result<TensorView> tensor(std::string_view name) const;  // kInvalidFile when missing
  // The same with the shape checked; the error names the tensor and both shapes.
  Result<TensorView> tensor(std::string_view name, int64_t rows, int64_t cols) const;
  // A parameter vector (norm weight, bias) in fp32.
  Result<std::vector<float>> vector(std::string_view name, int64_t size) const;
  // Gives back the file pages behind a view, or behind its first bytes; the view stays valid.
  void drop(const TensorView& view) const { drop(view, view.size_bytes); }
  void drop(const TensorView& view, int64_t num_bytes) const;

  int64_t file_bytes() const;

  // The mapped files: the one GGUF file, its parts, or the safetensors files.
  struct SourceFile {
    std::filesystem::path path;
    FileStamp stamp;  // when it was opened
  };
  std::vector<SourceFile> source_files() const;
  // Some bytes of the tensor as the file has them, to tell it from another of its name and shape; empty if missing.
  std::string_view sample(std::string_view name) const;

  // Tokenizer sources: the whole GGUF metadata, or files beside config.json (text of at most 64 MiB, kNotFound if
  // absent).
  const Gguf* gguf() const;  // null for a folder
  Result<std::string> folder_file(std::string_view name) const;
  // The chat template's Jinja text; nothing for a base model.
  Result<std::optional<std::string>> chat_template() const;

 private:
  struct Impl;
  explicit Checkpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace brio::weights
