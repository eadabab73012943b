// Row kernels: norms, rotation, gates and residual adds over one row of fp32.
//
// Layout  plain arrays; no alignment asked; any length, tails included, without reading or writing past the end.
// Order   element-wise work is one fixed chain of IEEE operations per element. Sums run in 16 lanes (element i into lane
//         i mod 16, ascending), then the tree lane l += lane l + 8, + 4, + 2, + 1 (DESIGN R9). So every ISA, and body and
//         tail, give equal bits; kernels/reference/row_reference.cc is the specification.
// Mode    FTZ and DAZ set (ThreadPool does); no libm, no reciprocal approximations.
#pragma once

#include "base/cpu.h"

namespace brio::kernels {

struct RowKernels {
  // out = (x * r) * weight with r = 1 / sqrt(sum(x^2) / n + epsilon). out may be x.
  // |relative error| of r <= (n / 32 + 6) 2^-24: half of that of a sum of n positive terms in 16 lanes.
  void (*rms_norm)(const float* x, const float* weight, int n, float epsilon, float* out);
  // y = fma(x * r, weight, y): a post-norm and its residual.
  void (*rms_norm_add)(const float* x, const float* weight, int n, float epsilon, float* y);
  // Rotates num_pairs pairs of x by (cos, sin) [num_pairs] in place:
  //   (a, b) -> (fma(a, cos, -(b sin)), fma(b, cos, a sin))
  // rotate_halves pairs (i, i + num_pairs); rotate_interleaved pairs (2i, 2i + 1).
  void (*rotate_halves)(float* x, const float* cos, const float* sin, int num_pairs);
  void (*rotate_interleaved)(float* x, const float* cos, const float* sin, int num_pairs);
  // out = silu(gate) * up, silu(x) = x / (1 + exp(-x)). out may be gate or up.
  void (*silu_multiply)(const float* gate, const float* up, int n, float* out);
  // out = gelu(gate) * up, gelu(x) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form, rewritten.
  void (*gelu_tanh_multiply)(const float* gate, const float* up, int n, float* out);
  // The vector functions alone, for tests and for whoever needs an array of them. out may be x.
  void (*exp)(const float* x, int n, float* out);
  void (*tanh)(const float* x, int n, float* out);
};

// The ISA must be supported by the CPU to be called, not to be named.
const RowKernels& row_kernels(Isa isa);

}  // namespace brio::kernels
