#include "weights/rope_rows.h"

#include <cstring>

namespace brio::weights {

void split_rotary_pairs(const std::byte* src, std::byte* dst, int64_t num_heads, int64_t head_dim, int64_t rotary_dim,
                        int64_t row_bytes) {
  for (int64_t head = 0; head < num_heads; ++head) {
    for (int64_t channel = 0; channel < head_dim; ++channel) {
      const int64_t half_split = channel / 2 + channel % 2 * (rotary_dim / 2);
      const int64_t to = channel < rotary_dim ? half_split : channel;
      std::memcpy(dst + (head * head_dim + to) * row_bytes, src + (head * head_dim + channel) * row_bytes,
                  static_cast<size_t>(row_bytes));
    }
  }
}

}  // namespace brio::weights
