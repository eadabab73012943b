// The row kernels as plain C++: the specification that every ISA equals bit for bit. Slow; tests only. Call it with FTZ
// and DAZ set (base/cpu.h).
#pragma once

namespace brio::kernels::reference {

float exp(float x);
float tanh(float x);
float silu(float x);
float gelu_tanh(float x);
float round_bf16(float x);

// The tree of DESIGN R9 over 16 lanes: lane l with lane l + 8, + 4, + 2, + 1.
float sum_lanes(const float (&lanes)[16]);

void rms_norm(const float* x, const float* weight, int n, float epsilon, float* out);
void rms_norm_add(const float* x, const float* weight, int n, float epsilon, float* y);
void rotate_halves(float* x, const float* cos, const float* sin, int num_pairs);
void rotate_interleaved(float* x, const float* cos, const float* sin, int num_pairs);

}  // namespace brio::kernels::reference
