#pragma once
// NaNs of maxima and minima.

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Returns `extreme`, the maximum or minimum of a and b, or the first NaN of the two, as scalar::Maximum and
// scalar::Minimum do. MaximumOf and MinimumOf mix the bits of a NaN with those of the other operand.
template <class T>
[[gnu::always_inline]] inline Vector<T> OrFirstNan(Vector<T> extreme, Vector<T> a, Vector<T> b) {
  const Vector<T> nan = a != a ? a : b;
  return ((a == a) & (b == b)) ? extreme : nan;
}

}  // namespace hlo::cpu
