#pragma once
// Batch normalisation: sums over all positions of a feature, and a linear function of every element, in f64.

#include <cstdint>

#include "absl/types/span.h"
#include "hlo_run/element_type.h"

namespace hlo::cpu {

// An array of [outer, features, inner].
struct FeatureDims {
  int64_t outer = 1, features = 1, inner = 1;
  int64_t element_count() const { return outer * features * inner; }
};

struct FloatArray {
  ElementType type;
  const void* data;
};

// first[f] = sum of y, second[f] = sum of y * (x - mean[f]), over all positions of feature f. The order
// depends on the sizes alone.
void FeatureSums(const FeatureDims& dims, const FloatArray& x, const double* mean, const FloatArray& y,
                 double* first, double* second);

// result = (x - shift[f]) * factor[f] + (y * y_factor[f] + offset[f]), rounded once to the type; without `y`
// the second term is offset[f].
struct FeatureLine {
  const double *shift, *factor, *offset;
  const double* y_factor = nullptr;
};
void FeatureLines(const FeatureDims& dims, const FloatArray& x, const FloatArray* y, const FeatureLine& line,
                  ElementType type, void* result);

// f64 from any float, and back.
void ToDoubles(const FloatArray& from, int64_t n, double* to);
void FromDoubles(const double* from, int64_t n, ElementType type, void* to);

}  // namespace hlo::cpu
