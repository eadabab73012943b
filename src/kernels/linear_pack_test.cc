// The packed bytes of every format, as numbers: packed files outlive the program that wrote them.
#include "kernels/linear_pack.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/hash.h"
#include "base/rng.h"
#include "kernels/linear_blocks.h"
#include "kernels/linear_layout.h"

namespace brio::kernels {
namespace {

// 5 rows of 3 blocks of 256 k, any bytes, and 11 rows past the end.
uint64_t digest_of_panel(PanelFormat format) {
  constexpr int kCols = 768;
  constexpr int kRows = 5;
  const BlockShape shape = block_shape(format);
  const size_t row_bytes = static_cast<size_t>(kCols / shape.elements) * static_cast<size_t>(shape.bytes);
  std::vector<std::byte> source(kRows * row_bytes);
  Rng rng(static_cast<uint64_t>(format) + 1);
  for (std::byte& byte : source) byte = static_cast<std::byte>(rng.below(256));
  const std::byte* rows[kPanelRows] = {};
  for (size_t i = 0; i < kRows; ++i) rows[i] = source.data() + i * row_bytes;
  std::string panel(static_cast<size_t>(panel_bytes(format, kCols)), '\xEE');
  pack_panel(format, rows, kCols, reinterpret_cast<std::byte*>(panel.data()));
  return hash_bytes(panel);
}

TEST(LinearPackTest, PackedBytesChangeWithTheLayoutVersionAlone) {
  ASSERT_EQ(kLayoutVersion, 1) << "a new version needs new digests here";
  constexpr uint64_t kDigests[kNumPanelFormats] = {
      0x6f4fe58c384651a0, 0xc733e35c42ddfbd0, 0x129242f123e53a27, 0x79ee4cc4d3e72920, 0x1cfb1cbca25d2f3a,
      0x9b77689f1d2d64b9, 0xf048a4626c713d96, 0x2ec72900e096f738, 0xe6aea0e511438381, 0x605d90d3eab783c6,
      0xb12227252aea2c6e, 0xe49c3fac60c4d943, 0xcda3776deddea534, 0x9e7fabf815c18e8e, 0x41b122381112ddee,
  };
  for (int f = 0; f < kNumPanelFormats; ++f) {
    EXPECT_EQ(digest_of_panel(static_cast<PanelFormat>(f)), kDigests[f]) << "format " << f << ": raise kLayoutVersion";
  }
}

}  // namespace
}  // namespace brio::kernels
