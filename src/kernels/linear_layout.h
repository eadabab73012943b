// Where the parts of a panel lie, for those who write or read panels: the packer, unpack_row and the kernels' decoders.
// linear.h documents the bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/linear.h"

namespace brio::kernels {

// Raised with any change of what packing writes for the same tensor: packed files of another version are packed again.
inline constexpr int kLayoutVersion = 1;

// A panel is a sequence of blocks: a header (scales), then the codes of `groups` groups of 32 k. The last block may hold
// fewer groups; its header keeps its size.
struct PanelLayout {
  int groups;  // of 32 k, per block
  int header_bytes;
  int group_bytes;

  constexpr int64_t block_offset(int group) const {
    return static_cast<int64_t>(group / groups) * (header_bytes + groups * group_bytes);
  }
  constexpr int64_t codes_offset(int group) const {
    return block_offset(group) + header_bytes + group % groups * group_bytes;
  }
};

constexpr PanelLayout layout(PanelFormat format) {
  constexpr PanelLayout kLayouts[kNumPanelFormats] = {
      {2, 64, 256},         // Q4_0
      {1, 64, 256},         // Q4_1
      {2, 64, 256 + 64},    // Q5_0
      {1, 64, 256 + 64},    // Q5_1
      {2, 64, 512},         // Q8_0
      {8, 320, 128},        // Q2_K
      {8, 256, 128 + 64},   // Q3_K
      {8, 256, 256},        // Q4_K
      {8, 256, 256 + 64},   // Q5_K
      {8, 320, 256 + 128},  // Q6_K
      {2, 64, 256},         // IQ4_NL
      {8, 128, 256},        // IQ4_XS
      {1, 0, 2048},         // F32
      {1, 0, 1024},         // F16
      {1, 0, 1024},         // BF16
  };
  return kLayouts[static_cast<int>(format)];
}

constexpr int64_t groups_bytes(const PanelLayout& panel, int groups) {
  return static_cast<int64_t>((groups + panel.groups - 1) / panel.groups) * panel.header_bytes +
         static_cast<int64_t>(groups) * panel.group_bytes;
}

inline constexpr int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace brio::kernels
