// Tiny random models, seeded, of every architecture and head layout: what the tests run where a real model would be too
// large. The same weights can be written as GGUF and as a safetensors folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace brio::tiny {

struct TinySpec {
  std::string name;                    // names the file and the golden
  std::string architecture = "llama";  // llama, qwen2, qwen3, gemma3
  int layers = 2;
  int hidden = 64;
  int feed_forward = 96;
  int heads = 4;
  int kv_heads = 2;
  int head_dim = 16;
  int vocab = 320;  // at least 260: 256 bytes and four specials
  int window = 0;   // gemma3: window of its local layers
  bool tied = true;
  bool attention_bias = false;               // llama: on q, k, v and the output projection
  std::string rope_scaling = "none";         // none, linear, llama3, yarn
  tensor::DType type = tensor::DType::kF32;  // of every matrix
  uint64_t seed = 1;
};

// For test output.
inline void PrintTo(const TinySpec& spec, std::ostream* out) {
  *out << spec.name;
}

// One of each thing that can differ: head_dim 64, 80, 128, 256; head ratios 1, 3, 4, 7 and MQA; a window of 5; N and K
// that are no multiples of 16 or 32; a vocabulary of 32,003; tied and untied heads; every rope scaling; biases on all of
// attention; all in fp32.
std::vector<TinySpec> shape_specs();
// Llama with matrices of each tensor type.
std::vector<TinySpec> type_specs();

Result<void> write_gguf(const TinySpec& spec, const std::filesystem::path& path);
// Float types only. Writes config.json, model.safetensors and tokenizer.json.
Result<void> write_safetensors(const TinySpec& spec, const std::filesystem::path& folder);

}  // namespace brio::tiny
