#pragma once
// Loads elements of any type as one of five wide types, and stores them with a single rounding.

#include <complex>
#include <cstdint>

#include "hlo_run/element_type.h"
#include "types/dispatch.h"

namespace hlo {

// Returns element i of an array that starts at `data`, widened exactly. W must be the wide type of the
// element type.
template <Wide W>
using LoadFn = W (*)(const void* data, int64_t i);
// Stores a value with the rounding of arithmetic: integers keep their low bits; floats of 16 bits and fewer
// are rounded through f32.
template <Wide W>
using StoreFn = void (*)(void* data, int64_t i, W value);

template <Wide W>
LoadFn<W> Loader(ElementType type);
template <Wide W>
StoreFn<W> Storer(ElementType type);

// Returns a wide value rounded as Storer rounds it.
template <Wide W>
W RoundTo(ElementType type, W value);

// Return the low `bits` bits of a value, sign- or zero-extended.
inline int64_t SignExtend(int64_t value, int64_t bits) {
  const int64_t shift = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}
inline uint64_t ZeroExtend(uint64_t value, int64_t bits) {
  return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

}  // namespace hlo
