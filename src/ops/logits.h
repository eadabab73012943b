// Numeric functions over one row of logits, for the sampler: on the host, after OpSet::read(). Everything is a fixed
// sequence of roundings (DESIGN R9): equal bits on every ISA. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>

namespace brio::ops {

struct Peak {
  int32_t index = 0;  // of the largest, the lowest id among equals
  float value = 0.0F;
  bool finite = true;  // no NaN and no infinity anywhere in the row; else index and value mean nothing
};
Peak find_peak(std::span<const float> logits);  // at least one

// sum of exp((x - peak) * scale), x ascending by id in 16 lanes of double. x may hold -inf (adds zero).
double sum_exp(std::span<const float> logits, float peak, float scale);

double log(double x);  // natural; kernels/math.h
double exp(double x);

}  // namespace brio::ops
