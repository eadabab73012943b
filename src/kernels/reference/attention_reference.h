// Attention of one query as plain C++: the specification that every ISA and every cutting of the work equals bit for bit
// (DESIGN R4; the order is stated in kernels/attention.h). Slow; tests only. Call it with FTZ and DAZ set.
#pragma once

#include <span>
#include <vector>

namespace brio::kernels::reference {

struct AttentionKeys {
  bool bf16 = true;
  int head_dim = 0;
  std::span<const float> k;  // [tokens][head_dim], as stored (already rounded)
  std::span<const float> v;
};

// softmax(scale q k^T over [begin, end)) v. Bytes of tokens outside the range are never read.
std::vector<float> attention(const float* q, const AttentionKeys& keys, int begin, int end, float scale, float softcap);

// Keys and values as int8 integers with a scale per token (kernels/kv_tile.h).
struct Int8AttentionKeys {
  int head_dim = 0;
  std::span<const int> k, v;                // [tokens][head_dim]
  std::span<const float> k_scale, v_scale;  // [tokens]
};
std::vector<float> attention(const float* q, const Int8AttentionKeys& keys, int begin, int end, float scale,
                             float softcap);

// Integers of x, at most `largest` in magnitude, and their unit: how keys and values (127), queries and weights (32512) are
// quantised.
struct Quantised {
  std::vector<int> integers;
  float scale;
};
Quantised quantise(std::span<const float> x, int largest);

// The same in double, textbook order, with q and p not rounded: what the bounds of the tests are about.
std::vector<double> exact_attention(const float* q, const AttentionKeys& keys, int begin, int end, float scale,
                                    float softcap);

}  // namespace brio::kernels::reference
