#include "tensor/kv_layout.h"

#include "base/check.h"
#include "tensor/float16.h"

namespace brio::tensor {

StoredToken read_token(const KvLayerView& view, int32_t sequence, int32_t position, int head) {
  const KvSpec& spec = *view.spec;
  const auto& blocks = view.blocks[static_cast<size_t>(sequence)];
  const std::byte* record = blocks[static_cast<size_t>(position / kBlockTokens)];
  BRIO_CHECK(record != nullptr, "position {} has been released", position);
  const std::byte* keys = record + 2 * tile_bytes(spec) * head;
  const std::byte* values = keys + tile_bytes(spec);
  const int token = position % kBlockTokens;
  const int dims = spec.head_dim;
  StoredToken out;
  for (int c = 0; c < dims; ++c) {
    if (spec.type == KvType::kF32) {
      out.key.push_back(reinterpret_cast<const float*>(keys)[c * kBlockTokens + token]);
      out.value.push_back(reinterpret_cast<const float*>(values)[token * dims + c]);
    } else {
      out.key.push_back(
          bf16_to_f32(reinterpret_cast<const uint16_t*>(keys)[(c / 2 * kBlockTokens + token) * 2 + c % 2]));
      out.value.push_back(
          bf16_to_f32(reinterpret_cast<const uint16_t*>(values)[(token / 2 * dims + c) * 2 + token % 2]));
    }
  }
  return out;
}

}  // namespace brio::tensor
