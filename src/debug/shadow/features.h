#pragma once
// The elements of the features that batch normalisation treats alike.

#include <cstdint>

#include "hlo_run/literal.h"

namespace hlo::debug {

// An array with dimensions [outer, feature, inner].
struct Features {
  int64_t outer = 1, count = 1, inner = 1;

  Features(const Literal& array, int64_t index) : count(array.dim(index)) {
    for (int64_t d = 0; d < index; ++d) outer *= array.dim(d);
    for (int64_t d = index + 1; d < array.rank(); ++d) inner *= array.dim(d);
  }
  double size() const { return static_cast<double>(outer * inner); }
  // Calls visit(i) with the position of every element of a feature.
  template <class Visit>
  void Each(int64_t feature, Visit&& visit) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t k = 0; k < inner; ++k) visit((o * count + feature) * inner + k);
    }
  }
  // Returns the sum of term(i) over a feature.
  template <class Sum, class Term>
  Sum SumOf(int64_t feature, Term&& term) const {
    Sum sum = 0.0;
    Each(feature, [&](int64_t i) { sum = sum + term(i); });
    return sum;
  }
};

}  // namespace hlo::debug
