// Config: the numbers that make one architecture into one model, read from a checkpoint's hyperparameters and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ops/ops.h"
#include "ops/rope_table.h"
#include "tensor/kv_layout.h"
#include "weights/checkpoint.h"

namespace brio::model {

struct Config {
  std::string architecture;  // "llama", "qwen2", "qwen3", "gemma3"
  int num_layers = 0;
  int hidden = 0;
  int feed_forward = 0;
  int num_heads = 0;
  int num_kv_heads = 0;  // = num_heads: MHA; 1: MQA; between: GQA
  int head_dim = 0;
  int vocab = 0;
  int context = 0;  // trained context length
  float norm_epsilon = 0.0F;
  float attention_scale = 0.0F;
  float embedding_scale = 1.0F;
  ops::RopeSpec rope;        // of full-attention layers
  ops::RopeSpec local_rope;  // of window layers (gemma3)
  std::vector<int> windows;  // per layer; 0: full attention
  tensor::KvType kv_type = tensor::KvType::kBF16;
};

// Reads and checks the hyperparameters of any known architecture; errors name the key.
Result<Config> read_config(const weights::Checkpoint& checkpoint, tensor::KvType kv_type);

// What a layer keeps in the KV cache.
tensor::KvSpec kv_spec(const Config& config, int layer);

// KV bytes that one more token of a long sequence adds: full-attention layers only, window layers stay flat.
int64_t kv_bytes_per_token(const Config& config);

// The architectures build_model knows, for messages.
const std::vector<std::string>& known_architectures();

}  // namespace brio::model
