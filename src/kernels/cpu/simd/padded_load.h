#pragma once
// This file loads the end of an array, with other values in the lanes that it does not fill.

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Returns the first n elements, n <= kLanes<T>, and `others` in the other lanes, without access beyond the
// elements. T has 4 or 8 bytes.
template <class T>
[[gnu::always_inline]] inline Vector<T> LoadFirstOr(const T* from, int n, Vector<T> others) {
  using Word = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  Vector<Word> lane;
  for (int k = 0; k < kLanes<T>; ++k) lane[k] = k;
  return lane < static_cast<Word>(n) ? LoadFirst(from, n) : others;
}

}  // namespace hlo::cpu
