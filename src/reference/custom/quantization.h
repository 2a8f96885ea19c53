#pragma once
// The parameters of uniformly quantized arrays (semantics 9.3).

#include <algorithm>
#include <cmath>
#include <vector>

#include "hlo_run/literal.h"
#include "reference/custom/options.h"

namespace hlo::reference::custom {

// x = (q - zero_point) * scale, with one scale and zero point for the array or one per index of a dimension.
struct Quantization {
  std::vector<double> scales, zero_points;
  int64_t dimension = 0;
  double low = 0, high = 0;

  Quantization(const Options& options, const Shape& shape, ElementType storage)
      : scales(options.Numbers("scale")),
        zero_points(options.Numbers("zero_point")),
        dimension(options.Int("quantization_dimension", 0)) {
    if (zero_points.empty()) zero_points = {0};
    const auto bits = static_cast<int>(BitWidth(storage) - (IsSigned(storage) ? 1 : 0));
    low = options.Number("storage_min", IsSigned(storage) ? -std::ldexp(1, bits) : 0);
    high = options.Number("storage_max", std::ldexp(1, bits) - 1);
    if (0 <= dimension && dimension < shape.rank()) {
      for (int64_t d = dimension + 1; d < shape.rank(); ++d) stride_ *= shape.dim(d);
    }
  }

  double scale(int64_t i) const { return At(scales, i); }
  double zero_point(int64_t i) const { return At(zero_points, i); }
  bool Fits(const Shape& shape) const {
    const auto fits = [&](const std::vector<double>& list) {
      return list.size() == 1 || (0 <= dimension && dimension < shape.rank() &&
                                  static_cast<int64_t>(list.size()) == shape.dim(dimension));
    };
    return fits(scales) && fits(zero_points) &&
           std::all_of(scales.begin(), scales.end(), [](double scale) { return scale > 0; });
  }

 private:
  double At(const std::vector<double>& list, int64_t i) const {
    return list[static_cast<size_t>(i / stride_) % list.size()];
  }
  int64_t stride_ = 1;
};

}  // namespace hlo::reference::custom
