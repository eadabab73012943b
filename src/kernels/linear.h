// Linear layers: y[m, n] = sum_k w[n, k] x[m, k], from one packed copy of the weights for every number of rows m.
//
// Panels. 16 output rows share a panel, output row in the SIMD lane; panels follow each other, each panel_bytes(format, k)
// long, a multiple of 64, 64-byte aligned. N is padded to 16 and K to 32 with weights that are zero. Within a panel K
// ascends; scales lie in front of the k they belong to, so that a panel is one sequential stream. Building bricks:
//   nibbles   4 lines of 64 bytes for 32 k: line l holds k 8l .. 8l+7; dword lane = output row; byte j of a lane holds
//             k 8l+j in its low and k 8l+4+j in its high nibble
//   bits      1 line for 32 k: byte j of a lane holds in bit q the fifth (Q3_K: third) bit of k 4q+j
//   pairs     2 lines for 32 k: byte j of a lane in line t holds in bits 2f, 2f+1 the upper (Q2_K, Q3_K: low) bits of
//             k 16t+4f+j
//   bytes     8 lines for 32 k: byte j of a lane in line q holds k 4q+j as value + 128
// Formats (file bytes are those of the GGUF type, for 16 rows). h16 = 16 f16 of the 16 rows.
//   Q4_0, IQ4_NL  per 64 k: h16 d of k 0-31, h16 d of k 32-63, nibbles, nibbles      (a lone last group keeps its 64-byte
//   Q5_0          per 64 k: the same with (nibbles, bits) twice                       scale line)
//   Q8_0          per 64 k: the same with bytes twice
//   Q4_1          per 32 k: h16 d, h16 m, nibbles
//   Q5_1          per 32 k: h16 d, h16 m, nibbles, bits
//   Q4_K          per 256 k: h16 d, h16 dmin, scale block A, 8 x nibbles
//   Q5_K          per 256 k: h16 d, h16 dmin, scale block A, 8 x (nibbles, bits)
//   Q6_K          per 256 k: h16 d, 32 zero bytes, s8 scale[16 halves][16 rows], 8 x (nibbles, pairs)
//   Q2_K          per 256 k: h16 d, h16 dmin, (scale | min << 4)[16 halves][16 rows], 8 x pairs
//   Q3_K          per 256 k: h16 d, 32 zero bytes, scale block B, 8 x (pairs, bits)
//   IQ4_XS        per 256 k: h16 d, scale block C, 8 x nibbles
//   F32           per k: f32[16 rows]          F16  per k: f16[16 rows]          BF16  per 2 k: bf16[16 rows][2]
// Scale blocks hold 6-bit numbers without loss; bytes of 16 rows each:
//   A  8 groups: scale | (min & 48) << 2;  then 4 pairs of groups: min & 15 of group 2p | (min & 15 of group 2p+1) << 4
//   B  8 groups: low nibbles of halves 2g, 2g+1;  then 4 quads of halves: the upper 2 bits of halves 4p+i at bit 2i
//   C  2 quads of groups: the upper 2 bits of groups 4p+i at bit 2i;  then 4 pairs: low nibbles of groups 2p, 2p+1
//
// Order (R1, R9): per output acc = 0; then for ascending groups of 32 k (types with a scale per 16: halves of 16 k)
//   acc = fma(float(sum of (code - offset) * x, an exact int32), ws * xs, acc)
//   types with a min: acc = fma(wm, xs * float(sum of x over the group), acc)
// with ws the f16 scale, or scale * sub-scale formed in fp32 (exact), wm = m (Q4_1, Q5_1) or -(dmin * sub-min), xs the row's
// scale. F32, F16: acc = fma(w, x, acc), k ascending. BF16: per pair of k acc = fma(w, x, acc) of the odd k, then of the
// even one; x and w rounded to bf16, subnormals zero. Finally y = acc, acc + bias, y + acc or y + (acc + bias).
// The same for every m, tile and ISA: equal bits (a NaN equals any NaN). Requires FTZ and DAZ (ThreadPool sets them).
// Error |y - exact| <= (2 K/32 + 2) 2^-24 sum over groups |ws xs sum| (+ the same over mins); floats: K 2^-24 sum |w x|.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/quantize_rows.h"

namespace brio::kernels {

inline constexpr int kPanelRows = 16;

enum class PanelFormat : uint8_t {
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kF32,
  kF16,
  kBF16,
};
inline constexpr int kNumPanelFormats = 15;

constexpr int num_panels(int64_t rows) {
  return static_cast<int>((rows + kPanelRows - 1) / kPanelRows);
}
// Bytes of one panel of k columns; K-quants need k to be a multiple of 256.
int64_t panel_bytes(PanelFormat format, int k);

// The rows x [num_rows, k] in the form that the weight's format reads; the others may be empty. Rows are `stride` apart
// (in elements), padded to 32 k with zeros.
struct LinearInput {
  QuantizedRows s8;                // every quantised format
  const uint16_t* bf16 = nullptr;  // BF16
  const float* f32 = nullptr;      // F16, F32
  ptrdiff_t stride = 0;            // of bf16 and f32
};

enum class Write : uint8_t { kReplace, kAdd };

struct LinearOutput {
  float* y = nullptr;           // [num_rows, n]; column 0 is the first panel's first row
  ptrdiff_t stride = 0;         // in floats
  const float* bias = nullptr;  // [n] or none
  Write write = Write::kReplace;
  int columns = 0;  // n: lanes of the last panel beyond it are not written
};

// Neighbouring panels; any part of a weight.
struct PanelRange {
  const std::byte* first = nullptr;
  int count = 0;
};

struct LinearKernels {
  using Linear = void (*)(const PanelRange& w, int k, const LinearInput& x, int num_rows, const LinearOutput& out);
  Linear linear[kNumPanelFormats];  // indexed by PanelFormat
};

// The ISA must be supported by the CPU to be called, not to be named.
const LinearKernels& linear_kernels(Isa isa);

// out[k] = the weight's row, dequantised: the exact product, rounded once to fp32 (the values of dequantize_row).
void unpack_row(PanelFormat format, const std::byte* panels, int k, int64_t row, float* out);

}  // namespace brio::kernels
