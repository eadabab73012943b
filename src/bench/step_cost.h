// StepCost: what one forward pass over a model has to read and to multiply, from the file's tensors and the model's numbers:
// what measured times are held against. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tensor/kv_layout.h"

namespace brio::bench {

// A tensor of the model's file under its GGUF name; a vector is one row.
struct TensorSize {
  std::string name;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t file_bytes = 0;
};

struct StepCost {
  int64_t weight_bytes = 0;  // of the file, that every step reads: all but an embedding that is not the LM head too
  int64_t macs_per_row = 0;  // of the layers' linear weights
  int64_t macs_per_logits_row = 0;  // of the LM head
  int64_t bytes_of_head = 0;        // part of weight_bytes
};
StepCost step_cost(std::span<const TensorSize> tensors);

// Bytes of keys and values that a row reads which sees `context` keys: in every layer those in its window.
int64_t kv_bytes_read(std::span<const tensor::KvSpec> layers, int context);

}  // namespace brio::bench
