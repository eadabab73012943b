// Spread: the median of the rounds of a measurement, and how far apart they were. Every number that bench prints is one.
#pragma once

#include <vector>

namespace brio::bench {

struct Spread {
  double median = 0.0;  // the mean of the middle two when their number is even
  double min = 0.0;
  double max = 0.0;
};

Spread spread(std::vector<double> values);  // of none: zeros

// How much the largest is above the smallest: 0.1 for ten per cent. Of nothing, or a zero: 0.
double drift(const Spread& spread);

}  // namespace brio::bench
