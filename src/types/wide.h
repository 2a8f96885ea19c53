#pragma once
// Reading elements of any type as one of five wide types, and storing them back with one rounding.

#include <complex>
#include <cstdint>

#include "hlo_run/element_type.h"
#include "types/dispatch.h"

namespace hlo {

// Element i of an array of the given type that starts at `data`, widened exactly. W must be the type's wide
// type.
template <Wide W>
using LoadFn = W (*)(const void* data, int64_t i);
// Stores with the rounding of arithmetic: integers keep their low bits, floats of 16 bits and fewer go by way
// of f32.
template <Wide W>
using StoreFn = void (*)(void* data, int64_t i, W value);

template <Wide W>
LoadFn<W> Loader(ElementType type);
template <Wide W>
StoreFn<W> Storer(ElementType type);

// A wide value rounded as Storer would, and read back.
template <Wide W>
W RoundTo(ElementType type, W value);

// The low `bits` bits of a value, sign- or zero-extended.
inline int64_t SignExtend(int64_t value, int64_t bits) {
  const int64_t shift = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}
inline uint64_t ZeroExtend(uint64_t value, int64_t bits) {
  return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

}  // namespace hlo
