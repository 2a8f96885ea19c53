#pragma once
// This file implements batch normalisation: sums over all positions of a feature, and an affine function of
// each element, in f64.

#include <cstdint>

#include "absl/types/span.h"
#include "hlo_run/element_type.h"

namespace hlo::cpu {

// The dimensions of an array [outer, features, inner].
struct FeatureDims {
  int64_t outer = 1, features = 1, inner = 1;
  int64_t element_count() const { return outer * features * inner; }
};

struct FloatArray {
  ElementType type;
  const void* data;
};

// Computes first[f] = sum of y and second[f] = sum of y * (x - mean[f]) over all positions of feature f. The
// order of summation depends on the sizes alone.
void FeatureSums(const FeatureDims& dims, const FloatArray& x, const double* mean, const FloatArray& y,
                 double* first, double* second);

// The affine function (x - shift[f]) * factor[f] + (y * y_factor[f] + offset[f]), rounded once to the
// result's type. Without `y`, the second term is offset[f].
struct FeatureLine {
  const double *shift, *factor, *offset;
  const double* y_factor = nullptr;
};
void FeatureLines(const FeatureDims& dims, const FloatArray& x, const FloatArray* y, const FeatureLine& line,
                  ElementType type, void* result);

// Convert from any float type to f64, and back.
void ToDoubles(const FloatArray& from, int64_t n, double* to);
void FromDoubles(const double* from, int64_t n, ElementType type, void* to);

}  // namespace hlo::cpu
