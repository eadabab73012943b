// Activation rows as the linear kernels read them: s8 with one scale per 32 k, or bf16. Made once per norm or attention
// output and shared by every weight that reads it (DESIGN R2): a row's image is a function of that row alone.
//
//   scale = amax / 127 over 32 consecutive k, value = round_to_nearest_even(x * (127 / amax)), |value| <= 127
//   sums  = integer sum of the values of each 16 consecutive k
// A group whose amax is below kSmallestAmax has scale 0 and values 0 (its scale would be subnormal). A group that holds a
// NaN or an infinity has scale NaN and values 0: every output that reads it becomes NaN, nothing is undefined.
// K is padded with zeros to a multiple of 32. Equal bits on every ISA and whatever the FTZ/DAZ mode. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace brio::kernels {

inline constexpr int kGroup = 32;  // k that share a scale; K is padded to a multiple of it
// amax / 127 is normal from 2^-119 on; from 2^-110 on a subnormal x rounds to 0 as it does when DAZ has zeroed it.
inline constexpr float kSmallestAmax = 0x1p-110F;

constexpr int padded_k(int k) {
  return (k + kGroup - 1) / kGroup * kGroup;
}

// Elements between rows: padded_k rounded up to an odd number of 64-element units, so that rows of s8 (64 bytes a unit)
// start in different L1 sets (64 sets of 64 bytes) and rows of scales (8 bytes) and sums stay aligned with their rows.
constexpr ptrdiff_t row_stride(int k) {
  return static_cast<ptrdiff_t>(((k + 63) / 64) | 1) * 64;
}

struct QuantizedRows {
  const int8_t* values = nullptr;  // [rows][stride]
  const float* scales = nullptr;   // [rows][stride / 32]
  const int16_t* sums = nullptr;   // [rows][stride / 16], 4-byte aligned
  ptrdiff_t stride = 0;            // row_stride(k), in k
};

// One row to be written. `at` moves to column k (a multiple of 32), so that 32 columns at a time can be finished.
struct QuantizedRow {
  int8_t* values = nullptr;
  float* scales = nullptr;
  int16_t* sums = nullptr;
  QuantizedRow at(int k) const { return {values + k, scales + k / kGroup, sums + k / (kGroup / 2)}; }
};

struct QuantizeKernels {
  // x [k] -> values [padded_k(k)], scales [padded_k(k) / 32], sums [padded_k(k) / 16]. x needs no alignment.
  void (*quantize_row)(const float* x, int k, QuantizedRow out);
  // x [k] -> bf16 [padded_k(k)], to nearest even; subnormals become signed zeros, NaN stays NaN (quiet).
  void (*round_row_bf16)(const float* x, int k, uint16_t* out);
};

// The ISA must be supported by the CPU to be called, not to be named.
const QuantizeKernels& quantize_kernels(Isa isa);

}  // namespace brio::kernels
