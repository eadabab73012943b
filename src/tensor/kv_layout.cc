#include "tensor/kv_layout.h"

#include "base/check.h"
#include "tensor/float16.h"

namespace brio::tensor {
namespace {

// Channel c of token t in a K tile and in a V tile.
struct Element {
  float key;
  float value;
};

Element read(const KvSpec& spec, const std::byte* keys, const std::byte* values, int token, int c) {
  const int dims = spec.head_dim;
  switch (spec.type) {
    case KvType::kF32:
      return {reinterpret_cast<const float*>(keys)[c * kBlockTokens + token],
              reinterpret_cast<const float*>(values)[token * dims + c]};
    case KvType::kBF16:
      return {bf16_to_f32(reinterpret_cast<const uint16_t*>(keys)[(c / 2 * kBlockTokens + token) * 2 + c % 2]),
              bf16_to_f32(reinterpret_cast<const uint16_t*>(values)[(token / 2 * dims + c) * 2 + token % 2])};
    case KvType::kInt8: {
      const auto code = [](const std::byte* tile, int at) {
        return std::to_integer<int>(tile[at]) - kernels::kCodeBias;
      };
      const auto scale = [&](const std::byte* tile) {
        return reinterpret_cast<const float*>(tile + kernels::int8_scales_offset(dims))[token];
      };
      return {static_cast<float>(code(keys, (c / 4 * kBlockTokens + token) * 4 + c % 4)) * scale(keys),
              static_cast<float>(code(values, (token / 4 * dims + c) * 4 + token % 4)) * scale(values)};
    }
  }
  return {};
}

}  // namespace

std::string_view name(KvType type) {
  switch (type) {
    case KvType::kBF16:
      return "bf16";
    case KvType::kF32:
      return "f32";
    case KvType::kInt8:
      return "int8";
  }
  return "";
}

StoredToken read_token(const KvLayerView& view, int32_t sequence, int32_t position, int head) {
  const KvSpec& spec = *view.spec;
  const auto& blocks = view.blocks[static_cast<size_t>(sequence)];
  const std::byte* record = blocks[static_cast<size_t>(position / kBlockTokens)];
  BRIO_CHECK(record != nullptr, "position {} has been released", position);
  const std::byte* keys = record + 2 * tile_bytes(spec) * head;
  const std::byte* values = keys + tile_bytes(spec);
  StoredToken out;
  for (int c = 0; c < spec.head_dim; ++c) {
    const Element element = read(spec, keys, values, position % kBlockTokens, c);
    out.key.push_back(element.key);
    out.value.push_back(element.value);
  }
  return out;
}

}  // namespace brio::tensor
