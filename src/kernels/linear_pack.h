// Packing: from the rows of a GGUF tensor to panels (linear.h), without any rounding. Called by weights/packer, one panel
// at a time; any thread, panels are independent.
#pragma once

#include <cstddef>

#include "kernels/linear.h"

namespace brio::kernels {

// Writes panel_bytes(format, k) bytes at out. rows[i]: the file's bytes of output row i, any alignment; null for rows past
// N, which become zero weights. k is a multiple of the format's block.
void pack_panel(PanelFormat format, const std::byte* const rows[kPanelRows], int k, std::byte* out);

// The same for format F32 from rows that were dequantised.
void pack_panel_f32(const float* const rows[kPanelRows], int k, std::byte* out);

}  // namespace brio::kernels
