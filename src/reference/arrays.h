#pragma once
// Steps over whole arrays that several reference functions share.

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "types/dispatch.h"
#include "types/view.h"

namespace hlo::reference {

// The element type whose storage is W itself.
template <Wide W>
constexpr ElementType WideType() {
  if constexpr (std::is_same_v<W, bool>)
    return ElementType::kPred;
  else if constexpr (std::is_same_v<W, int64_t>)
    return ElementType::kS64;
  else if constexpr (std::is_same_v<W, uint64_t>)
    return ElementType::kU64;
  else if constexpr (std::is_same_v<W, double>)
    return ElementType::kF64;
  else
    return ElementType::kC128;
}

// The same values as an array of pred, s64, u64, f64 or c128. Numbers keep their value where the type has it;
// floats become integers by truncation with saturation.
absl::StatusOr<Literal> Widened(const Literal& array, ElementType wide_type);

// The reverse: one of the five wide types, of any class, rounded into an array of this shape.
absl::StatusOr<Literal> Rounded(const Literal& wide, const Shape& shape);

// The array itself where it has this type, else its elements converted.
absl::StatusOr<Literal> WithType(const Literal& array, ElementType type);

// Positions to read or write at, as s64. An unsigned number that s64 lacks is its largest.
absl::StatusOr<Literal> AsIndices(const Literal& array);

// Dimension k of the result is dimension permutation[k] of the array.
absl::StatusOr<Literal> Transposed(const Literal& array, absl::Span<const int64_t> permutation);

// An array of zeros in the type of wide floats.
absl::StatusOr<Literal> WideZeros(const Index& dims);

// The elements that a view of the array's buffer names, as an array of `shape`.
absl::StatusOr<Literal> Copied(const Literal& array, const View& from, const Shape& shape);

}  // namespace hlo::reference
