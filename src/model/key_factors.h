// Key factors: what the keys of a layer are divided by, channel by channel, before they are stored as int8, and its queries
// multiplied by. An int8 key has one unit for all channels of a head (kernels/kv_tile.h), so a channel that is much larger
// than the others takes their bits: Qwen2's key bias reaches 354 where most are below 1. Divided by how large it is
// expected to be, each channel uses its 8 bits. SmoothQuant's idea (Xiao et al. 2023); for keys Lin et al. 2024 (QServe),
// section 4.2. Channels that are rotated together share a factor, so that dividing and rotating commute.
//
// The expectation comes from the weights alone: factor^2 = mean over the pair of bias^2 + (4 spread)^2, where spread is the
// standard deviation of a channel for inputs of independent channels. Mean KL on qwen2.5-coder-0.5b
// (tools/reference_rounding.py): 0.0105 without factors, 0.0023 from the bias alone, 0.0016, 0.0005, 0.0006, 0.0006 with
// 1, 3, 5, 8 spreads; 0.0003 with the bias removed, which would cost a rotation of it for every key read.
#pragma once

#include <span>
#include <vector>

#include "ops/rope_table.h"

namespace brio::model {

// spread [num_kv_heads * head_dim]; bias the same or empty. A pair of which nothing is known (0, or not finite) gets 1.
std::vector<float> key_factors(std::span<const float> spread, std::span<const float> bias, int head_dim,
                               const ops::RopeSpec& rope);

}  // namespace brio::model
