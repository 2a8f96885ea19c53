#include "reference/custom/pointwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "reference/arrays.h"
#include "types/index.h"
#include "types/wide.h"

namespace hlo::reference::custom {
namespace {

constexpr int kBitsOfSaturation = 8;

// Returns the target dimension of dimension d of an array.
int64_t BroadcastDimension(int64_t d, int64_t rank, int64_t target_rank, int64_t feature) {
  return rank == 1 && target_rank > 1 ? feature : d + target_rank - rank;
}

}  // namespace

bool CanBroadcastTo(const Shape& array, absl::Span<const int64_t> dims, int64_t feature) {
  const auto rank = static_cast<int64_t>(dims.size());
  if (!array.IsArray() || array.rank() > rank || IsComplex(array.type())) return false;
  for (int64_t d = 0; d < array.rank(); ++d) {
    if (array.dim(d) != 1 && array.dim(d) != dims[BroadcastDimension(d, array.rank(), rank, feature)])
      return false;
  }
  return true;
}

absl::StatusOr<Literal> BroadcastTo(const Literal& array, absl::Span<const int64_t> dims, int64_t feature) {
  HLO_ASSIGN_OR_RETURN(const Literal wide, WithType(array, ElementType::kF64));
  const Index strides = RowMajorStrides(array.dims());
  View from{dims, hlo::Zeros(static_cast<int64_t>(dims.size())), 0};
  for (int64_t d = 0; d < array.rank(); ++d) {
    if (array.dim(d) != 1)
      from.strides[BroadcastDimension(d, array.rank(), from.dims.rank(), feature)] = strides[d];
  }
  return Copied(wide, from, Shape::Array(ElementType::kF64, dims));
}

double LargestFinite(ElementType type) {
  if (!IsFloat(type)) return std::ldexp(1, static_cast<int>(BitWidth(type)) - (IsSigned(type) ? 1 : 0)) - 1;
  if (BitWidth(type) > 32) return std::numeric_limits<double>::max();
  if (BitWidth(type) > 16) return std::numeric_limits<float>::max();
  double largest = 0;
  for (int code = 0; code < 1 << BitWidth(type); ++code) {
    const auto word = static_cast<uint16_t>(code);
    const double value = Loader<double>(type)(&word, 0);
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

absl::StatusOr<Literal> Saturated(const Literal& wide, const Shape& shape) {
  if (BitWidth(shape.type()) > kBitsOfSaturation || !IsFloat(shape.type())) return Rounded(wide, shape);
  Literal clamped = wide;
  HLO_RETURN_IF_ERROR(clamped.MakeUnique());
  const double bound = LargestFinite(shape.type());
  for (double& x : clamped.mutable_span<double>()) x = std::clamp(x, -bound, bound);
  return Rounded(clamped, shape);
}

}  // namespace hlo::reference::custom
