#pragma once
// Between the types of arrays and those in which contractions compute: float, double, uint32_t, uint64_t (for
// all integers, wrapping) and std::complex of the first two.

#include <complex>
#include <cstdint>

#include "hlo_run/element_type.h"

namespace hlo::cpu {

// to[r * ld + c] = from[r * row_stride + c * column_stride] for a block of elements, exactly (integers wrap).
template <class T>
using WidenBlock = void (*)(const void* from, int64_t row_stride, int64_t column_stride, int64_t rows,
                            int64_t columns, T* to, int64_t ld);
// nullptr where a product does not take the type: a float as an integer, a complex number as a real one. Also
// for int16_t, which holds the integers of fewer bits.
template <class T>
WidenBlock<T> WidenBlockOf(ElementType type);

// to[i] = from[i], each rounded, wrapped or truncated once. Floats become integers by way of f32, saturating.
template <class T>
using NarrowRow = void (*)(const T* from, int64_t count, void* to);
template <class T>
NarrowRow<T> NarrowRowOf(ElementType type);

}  // namespace hlo::cpu
