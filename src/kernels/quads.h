// Quads: four unsigned byte codes in each of 16 lanes, times four 16-bit factors that all lanes share, as exact 32-bit sums;
// what attention over int8 tiles is made of. Three implementations, isa/*/quads.inl, on top of isa/*/vector.inl;
// generic/attention_int8.inl is written once against them.
//
//   Factors        four integers in -32512 .. 32512 as the ISA multiplies by them, 8 bytes
//                    AVX-512   high halves as s8, then low halves as s8 (factor = 256 high + low): two vpdpbusd
//                    AVX2      s16 (f0 f2)(f1 f3): codes widened to s16, two vpmaddwd
//                    scalar    s16 f0 .. f3
//   Ints           16 s32: add, sum(a) = the sum of the lanes
//   store_factors(out, v)   16 lanes to nearest even, |v| <= 32512, as 4 Factors; returns the integers
//   store_ints(p, v)        16 lanes to nearest even, |v| <= 32512, as s32
//   QuadSum        sums under way: no_quads; to_f32(q, start) = start + sum, as fp32 (rounded to nearest even)
//   multiply_quads<M, N, Stride, kPrefetch>(factors, words, stride, count, lanes, ahead, acc)
//                  acc[m][n] += sum over j < count of factors[m Stride + j] times words[j stride + 16 n ..] (one 32-bit
//                  word a lane; the first `lanes` of 16 are read). Fetches `ahead`, N cache lines a word row.
//   kQuadVectors<M>  N that M rows take at once
// Integer sums are exact modulo 2^32, and attention's fit in 32 bits once its start is added: any order gives equal bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/vector.h"

namespace brio::kernels {

// 127 * 256: the high half of every factor rounded to nearest fits in s8.
inline constexpr int kLargestFactor = 32512;

}  // namespace brio::kernels
