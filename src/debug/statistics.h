#pragma once
// Summarises arrays: extremes, mean, special values, histogram.

#include <cstdint>
#include <string>
#include <vector>

#include "hlo_run/literal.h"

namespace hlo::debug {

// Statistics of the elements, or of the moduli of complex elements. Extremes and mean exclude NaNs and
// infinities.
struct ArrayStatistics {
  int64_t count = 0, finite = 0, nan = 0, inf = 0, zero = 0;
  double min = 0, max = 0, mean = 0, rms = 0;
};
ArrayStatistics Statistics(const Literal& array);

// Returns element i as a double; for complex numbers the modulus.
double ElementAsDouble(const Literal& array, int64_t i);

// Returns the number of finite elements in each of `bins` equal intervals from the minimum to the maximum.
std::vector<int64_t> Histogram(const Literal& array, const ArrayStatistics& statistics, int64_t bins);

// Returns one line such as `f32[2,3] min -1, max 3, mean 0.5, 1 NaN`, or the value of an array of up to four
// elements. Tuples list their leaves.
std::string DescribeValue(const Literal& value);

}  // namespace hlo::debug
