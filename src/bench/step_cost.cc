#include "bench/step_cost.h"

#include <algorithm>

namespace brio::bench {

StepCost step_cost(std::span<const TensorSize> tensors) {
  constexpr const char* kEmbedding = "token_embd.weight";
  constexpr const char* kOutput = "output.weight";
  const bool has_output = std::any_of(tensors.begin(), tensors.end(), [](const auto& t) { return t.name == kOutput; });
  const char* const head = has_output ? kOutput : kEmbedding;
  StepCost cost;
  for (const TensorSize& tensor : tensors) {
    if (tensor.name == kEmbedding && has_output) continue;  // a row for each token
    cost.weight_bytes += tensor.file_bytes;
    if (tensor.name == head) {
      cost.bytes_of_head = tensor.file_bytes;
      cost.macs_per_logits_row = tensor.rows * tensor.cols;
    } else if (tensor.rows > 1) {
      cost.macs_per_row += tensor.rows * tensor.cols;
    }
  }
  return cost;
}

int64_t kv_bytes_read(std::span<const tensor::KvSpec> layers, int context) {
  int64_t bytes = 0;
  for (const tensor::KvSpec& spec : layers) {
    const int64_t keys = spec.kind == tensor::KvSpec::Kind::kWindow ? std::min(context, spec.window) : context;
    bytes += keys * tensor::record_bytes(spec) / tensor::kBlockTokens;
  }
  return bytes;
}

}  // namespace brio::bench
