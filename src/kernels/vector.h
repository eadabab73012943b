// The virtual vector: 16 lanes of fp32 (F32x16) or of 32-bit words (U32x16), as an array, two ymm or one zmm. Numeric bodies
// (generic/*.inl) are written once against it and compiled for every ISA, so ISAs give equal bits by construction
// (DESIGN R9). It offers only operations whose result is determined lane by lane, and two reductions with one tree.
//
// How a file uses it (isa/avx2/row.cc):
//     #include <standard headers>
//     #include "kernels/vector.h"
//     BRIO_TARGET_BEGIN_AVX2
//     namespace brio::kernels::avx2 {
//     #include "kernels/isa/avx2/vector.inl"
//     #include "kernels/generic/row.inl"
//     }
//     BRIO_TARGET_END
// The .inl files include nothing, since they are read inside a target region and a namespace.
//
// Operations, beside load, store and their _first forms (the first n lanes, 0 <= n <= 16; lanes past n read as 0):
//   add sub mul div sqrt fma(a, b, c) = a b + c rounded once      maximum(a, b) = a > b ? a : b (so b when either is NaN)
//   less(a, b), is_nan(a), lanes_between(begin, end) -> Mask      select(mask, a, b) = mask ? a : b
//   absolute, negate, negate_even_lanes, copy_sign              sign bits only
//   add_exponent(v, t): bits(v) + (bits(t) << 23)                 the 2^n of exp
//   odd(u), even(u): the bf16 in the high, low half of each word, as fp32
//   round_bf16(v): to nearest even bf16, subnormals to signed zero, NaN made quiet; kept as fp32
//   round_bf16_normal(v): the same for v that is zero or normal; NaN becomes anything
//   swap_pairs, load_twice: (a b) -> (b a); each of 8 floats in two lanes
//   sum, maximum_lane: lane l with lane l + 8, + 4, + 2, + 1
#pragma once

#ifndef BRIO_LANE_INLINE  // the scalar files ask for calls: 16 inlined std::fma a line would make half a megabyte
#define BRIO_LANE_INLINE inline __attribute__((always_inline))
#endif
