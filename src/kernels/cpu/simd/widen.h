#pragma once
// This file converts between the types of arrays and the compute types of contractions: float, double,
// uint32_t, uint64_t (for all integers, wrapping) and std::complex of the first two.

#include <complex>
#include <cstdint>
#include <type_traits>

#include "hlo_run/element_type.h"
#include "types/dispatch.h"

namespace hlo::cpu {

// Apply X to the compute types.
#define HLO_REAL_COMPUTE_TYPES(X) X(float) X(double) X(uint32_t) X(uint64_t)
#define HLO_COMPUTE_TYPES(X) HLO_REAL_COMPUTE_TYPES(X) X(std::complex<float>) X(std::complex<double>)

// True if elements of the type are stored as values of the compute type T, so that they need no conversion.
template <class T>
bool IsStoredAs(ElementType type) {
  return DispatchType(type, []<ElementType kType>() { return std::is_same_v<Native<kType>, T>; });
}

// Sets to[r * ld + c] = from[r * row_stride + c * column_stride] for a block of elements; integers wrap.
template <class T>
using WidenBlock = void (*)(const void* from, int64_t row_stride, int64_t column_stride, int64_t rows,
                            int64_t columns, T* to, int64_t ld);
// Returns nullptr for unsupported conversions: from float to integer or from complex to real. int16_t is
// supported for narrower integers.
template <class T>
WidenBlock<T> WidenBlockOf(ElementType type);

// Sets to[i] = from[i], each rounded, wrapped or truncated once. Floats are converted to integers through
// f32, saturating.
template <class T>
using NarrowRow = void (*)(const T* from, int64_t count, void* to);
template <class T>
NarrowRow<T> NarrowRowOf(ElementType type);

}  // namespace hlo::cpu
