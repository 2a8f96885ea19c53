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
#if defined(HLO_AVX512_VECTORS)
  const __m512i bits = BitsOf<__m512i>(others);
  return BitsOf<Vector<T>>(sizeof(T) == 4 ? _mm512_mask_loadu_epi32(bits, _bzhi_u32(0xffff, n), from)
                                          : _mm512_mask_loadu_epi64(bits, _bzhi_u32(0xff, n), from));
#else
  using Word = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  Vector<Word> lane;
  for (int k = 0; k < kLanes<T>; ++k) lane[k] = k;
  return lane < static_cast<Word>(n) ? LoadFirst(from, n) : others;
#endif
}

}  // namespace hlo::cpu
