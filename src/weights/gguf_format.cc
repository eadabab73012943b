#include "weights/gguf_format.h"

#include <utility>

namespace brio::weights {
namespace {

using tensor::DType;

constexpr std::pair<uint32_t, DType> kTypes[] = {
    {0, DType::kF32},   {1, DType::kF16},   {30, DType::kBF16}, {2, DType::kQ4_0},    {3, DType::kQ4_1},
    {6, DType::kQ5_0},  {7, DType::kQ5_1},  {8, DType::kQ8_0},  {10, DType::kQ2_K},   {11, DType::kQ3_K},
    {12, DType::kQ4_K}, {13, DType::kQ5_K}, {14, DType::kQ6_K}, {20, DType::kIQ4_NL}, {23, DType::kIQ4_XS},
};

constexpr std::pair<uint32_t, std::string_view> kForeign[] = {
    {4, "Q4_2"},   {5, "Q4_3"},   {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},
    {19, "IQ1_S"}, {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},    {25, "I16"},     {26, "I32"},    {27, "I64"},
    {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"}, {35, "TQ2_0"}, {39, "MXFP4"},
};

}  // namespace

uint32_t gguf_type_number(DType type) {
  for (const auto& [number, candidate] : kTypes) {
    if (candidate == type) return number;
  }
  return UINT32_MAX;
}

std::optional<DType> gguf_dtype(uint32_t number) {
  for (const auto& [candidate, type] : kTypes) {
    if (candidate == number) return type;
  }
  return std::nullopt;
}

std::string_view foreign_type_name(uint32_t number) {
  for (const auto& [candidate, label] : kForeign) {
    if (candidate == number) return label;
  }
  return {};
}

}  // namespace brio::weights
