// DType: the element types of tensors in files, with their block geometry. Names are GGUF's. Values are brio's own.
#pragma once

#include <cstdint>
#include <string_view>

namespace brio::tensor {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
};

struct DTypeTraits {
  std::string_view name;  // "Q4_K"
  int block_elements;     // 1, 32 or 256 consecutive elements of a row share a block
  int block_bytes;
};

const DTypeTraits& traits(DType type);
inline std::string_view name(DType type) {
  return traits(type).name;
}

// Bytes of a row of `num_elements`, which must be a multiple of block_elements.
inline int64_t row_bytes(DType type, int64_t num_elements) {
  return num_elements / traits(type).block_elements * traits(type).block_bytes;
}

}  // namespace brio::tensor
