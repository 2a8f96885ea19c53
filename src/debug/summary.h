#pragma once
// Summaries of arrays: range, norm and special values, and values that narrower types cannot represent.

#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

// Complex elements are replaced by their modulus.
struct Summary {
  int64_t elements = 0, finite = 0, nans = 0, infinities = 0;
  double min = 0, max = 0, mean = 0;  // Statistics of the finite elements.
  double norm = 0;                    // The Euclidean norm of the finite elements.
  int64_t first_bad = -1;             // The position of the first NaN or infinity.
};
Summary Summarize(const Literal& array);
// Prints `min 0  max 2  mean 1  norm 2.24  NaN 1  Inf 0  first bad {1}`.
std::string ToString(const Summary& summary, const Literal& array);
nlohmann::ordered_json ToJson(const Summary& summary, const Literal& array);

// True if an array contains a NaN or an infinity, as selected. Fast for types of 16 bits and more.
bool HoldsSpecial(const Literal& array, bool nans, bool infinities);
bool HoldsSpecial(ElementType type, const std::byte* elements, int64_t count, bool nans, bool infinities);

// True if the element at a position is within the run-time sizes of an array.
bool IsWithinSizes(const Literal& array, int64_t position);
// Returns the index of a position; empty for scalars.
std::vector<int64_t> IndexOf(const Literal& array, int64_t position);
// Returns an element as text.
std::string ElementText(const Literal& array, int64_t position);
// Returns the modulus of an element; 0 if it is not a number.
double Magnitude(const Literal& array, int64_t position);
bool IsNanAt(const Literal& array, int64_t position);
bool IsInfAt(const Literal& array, int64_t position);
// Returns the modulus of an element of a wide type; NaN if a part of it is NaN.
template <class W>
double ModulusOf(const W& element) {
  if constexpr (std::is_same_v<W, std::complex<double>>)
    return std::isnan(element.real()) || std::isnan(element.imag()) ? NAN : std::abs(element);
  else
    return static_cast<double>(element);
}

// The finite elements of an array that a narrower float type cannot represent.
struct NarrowRange {
  ElementType type;
  int64_t overflows = 0;   // The number that rounds to an infinity or NaN, or saturates.
  int64_t underflows = 0;  // The number of nonzero elements that round to 0.
  int64_t subnormals = 0;  // The number that loses precision in the subnormal range.
  int64_t first_overflow = -1, first_underflow = -1;
};
// Returns the ranges of those of the types, which are floats of at most 16 bits, that are narrower than the
// array's type.
std::vector<NarrowRange> NarrowRanges(const Literal& array, absl::Span<const ElementType> types);

}  // namespace hlo::debug
