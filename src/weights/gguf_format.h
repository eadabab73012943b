// Numbers of the GGUF format that its reader and writer share.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace brio::weights {

inline constexpr uint32_t kGgufMagic = 0x46554747;  // "GGUF"
inline constexpr uint64_t kGgufAlignment = 32;  // of the data section and tensors, unless general.alignment says else
inline constexpr int64_t kMaxElements = int64_t{1}
                                        << 48;  // of one tensor: any block arithmetic on it stays inside 63 bits

uint32_t gguf_type_number(tensor::DType type);
std::optional<tensor::DType> gguf_dtype(uint32_t number);
// The name of a type that exists but brio does not read ("IQ2_XXS"); empty for an unknown number.
std::string_view foreign_type_name(uint32_t number);

}  // namespace brio::weights
