// Elementary functions in double, brio's own (DESIGN R9: no libm on the path to the logits, so that every machine and
// compiler agrees on every bit). For tables and scalars; vectors of fp32 have theirs in generic/math.inl.
//
// Only + - * / and integer operations, no fma, so the build's -ffp-contract=off fixes the bits. Relative error below 2^-51
// where not stated otherwise. NaN in, NaN out. Any thread, any FTZ mode (subnormal results may be flushed).
#pragma once

namespace brio::kernels {

double exp(double x);
double log(double x);            // x < 0: NaN; 0: -inf
double pow(double x, double y);  // x > 0, else NaN; relative error <= (|y log x| + 2) 2^-52
double tanh(double x);
double sin(double x);  // |x| <= 1e7: absolute error below 2^-51; beyond: NaN
double cos(double x);

}  // namespace brio::kernels
