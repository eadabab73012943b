// read_token gives back what the kernels stored: channel by channel, for every type, odd head sizes and every token of a tile.
#include "tensor/kv_layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/arena.h"
#include "base/cpu.h"
#include "kernels/attention.h"

namespace brio::tensor {
namespace {

// A different number for every (which, head, token, channel), exact in bf16 and at most 127.
float number(int which, int head, int token, int channel) {
  return static_cast<float>((which * 31 + head * 7 + token * 3 + channel * 5) % 255 - 127);
}

TEST(KvLayout, ReadTokenGivesBackWhatWasStored) {
  set_float_mode();
  const auto& kernels = kernels::attention_kernels(Isa::kScalar);
  for (const KvType type : {KvType::kBF16, KvType::kF32, KvType::kInt8}) {
    for (const int head_dim : {16, 18, 80, 128}) {
      const KvSpec spec = {KvSpec::Kind::kFull, 0, 3, head_dim, type};
      auto memory = std::move(AlignedBuffer::create(static_cast<size_t>(record_bytes(spec)))).value();
      std::memset(memory.data(), 0xFF, memory.size_bytes());
      std::vector<float> x[2];
      for (int head = 0; head < 3; ++head) {
        for (int token = 0; token < kBlockTokens; ++token) {
          for (int which = 0; which < 2; ++which) {
            x[which].clear();
            for (int c = 0; c < head_dim; ++c) x[which].push_back(number(which, head, token, c));
            x[which][0] = 127.0F;  // int8: scale 1, every number exact
          }
          std::byte* tile = memory.data() + 2 * tile_bytes(spec) * head;
          kernels.store_key[static_cast<int>(type)](x[0].data(), head_dim, token, tile);
          kernels.store_value[static_cast<int>(type)](x[1].data(), head_dim, token, tile + tile_bytes(spec));
        }
      }
      std::byte* const record = memory.data();
      const std::span<std::byte* const> blocks(&record, 1);
      const KvLayerView view = {&spec, {&blocks, 1}};
      for (int head = 0; head < 3; ++head) {
        for (int token = 0; token < kBlockTokens; ++token) {
          const StoredToken stored = read_token(view, 0, token, head);
          for (int c = 0; c < head_dim; ++c) {
            const float key = c == 0 ? 127.0F : number(0, head, token, c);
            const float value = c == 0 ? 127.0F : number(1, head, token, c);
            ASSERT_EQ(stored.key[static_cast<size_t>(c)], key) << name(type) << ' ' << head_dim << ' ' << token;
            ASSERT_EQ(stored.value[static_cast<size_t>(c)], value) << name(type) << ' ' << head_dim << ' ' << token;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace brio::tensor
