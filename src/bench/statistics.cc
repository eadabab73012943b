#include "bench/statistics.h"

#include <algorithm>
#include <cstddef>

namespace brio::bench {

Spread spread(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
  return {median, values.front(), values.back()};
}

double drift(const Spread& spread) {
  return spread.min > 0.0 ? spread.max / spread.min - 1.0 : 0.0;
}

}  // namespace brio::bench
