#pragma once
// Array operations that several reference functions share.

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "types/dispatch.h"
#include "types/view.h"

namespace hlo::reference {

// The element type whose storage type is W.
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

// Converts an array to pred, s64, u64, f64 or c128. Representable values are preserved; floats are truncated
// to integers with saturation.
absl::StatusOr<Literal> Widened(const Literal& array, ElementType wide_type);

// Converts `count` elements of an array, from `first` on, to a wide type in the same way.
template <Wide W>
void LoadWide(const Literal& array, int64_t first, int64_t count, W* out);

// Rounds an array of a wide type of any class to an array of this shape.
absl::StatusOr<Literal> Rounded(const Literal& wide, const Shape& shape);

// Returns the result of a call that computes only its first element, such as one with a workspace: the others
// are zeros. Returns `first` if the shape is an array.
absl::StatusOr<Literal> WithZeroedRest(const Shape& shape, Literal first);

// Returns the array if it has this type, otherwise its converted elements.
absl::StatusOr<Literal> WithType(const Literal& array, ElementType type);

// Returns an array of indices as s64; unsigned values that s64 lacks become INT64_MAX.
absl::StatusOr<Literal> AsIndices(const Literal& array);

// Dimension k of the result is dimension permutation[k] of the array.
absl::StatusOr<Literal> Transposed(const Literal& array, absl::Span<const int64_t> permutation);

// Returns an array of zeros in the wide float type.
absl::StatusOr<Literal> WideZeros(const Index& dims);

// Returns the elements of a view of the array's buffer as an array of `shape`.
absl::StatusOr<Literal> Copied(const Literal& array, const View& from, const Shape& shape);

}  // namespace hlo::reference
