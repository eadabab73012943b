// Device: where weights, pages, activations and logits live. Everything that holds such memory names its device; only
// ops and kernels turn it into addresses. kNull has shapes but no memory: scheduler tests run on it.
#pragma once

#include <cstdint>

namespace brio::tensor {

enum class Device : uint8_t { kCpu, kNull };

// How numbers are carried between layers. kDefault: weights in their stored precision, s8 (or bf16) activations, the KV
// type asked for. kFp32: weights dequantised exactly, fp32 activations and KV; slow, for checking the graph.
enum class Numerics : uint8_t { kDefault, kFp32 };

}  // namespace brio::tensor
