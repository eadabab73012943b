// Reorders the rows of q and k projections from interleaved rotary pairs (2i, 2i + 1), as GGUF files of architecture
// llama store them, to half-split pairs (i, i + rotary_dim / 2), brio's one convention. Rows stay whole, so blocks of
// any type move unchanged and every product keeps its bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace brio::weights {

// src, dst [num_heads * head_dim, row_bytes]; rotary_dim even, <= head_dim: channels past it stay where they are.
void split_rotary_pairs(const std::byte* src, std::byte* dst, int64_t num_heads, int64_t head_dim, int64_t rotary_dim,
                        int64_t row_bytes);

}  // namespace brio::weights
