#pragma once
// The native types in which loops compute.

#include <complex>
#include <cstdint>

#include "hlo_run/element_type.h"

namespace hlo::loops {

// The native type in which elements are computed. Floats of at most 16 bits are f32, rounded after every
// operation; integers of fewer than 8 bits are s8 and u8, truncated after every operation.
enum class Lane : uint8_t { kPred, kS8, kS16, kS32, kS64, kU8, kU16, kU32, kU64, kF32, kF64, kC64, kC128 };

Lane LaneOf(ElementType type);
// Returns true if the storage type equals the lane type.
bool IsStoredAsLane(ElementType type);
// Widens an element from its storage type to its lane type.
void LoadLane(ElementType type, const void* element, void* lane);
// Returns an integer scalar of any type; values beyond int64_t saturate.
int64_t ReadInteger(ElementType type, const void* data);
// Returns an unsigned type of the same width, which preserves all bits.
ElementType BytesOf(ElementType type);

// Calls f.template operator()<T>() with the lane's C++ type.
template <class F>
decltype(auto) DispatchLane(Lane lane, F&& f) {
  switch (lane) {
    case Lane::kPred:
      return f.template operator()<bool>();
    case Lane::kS8:
      return f.template operator()<int8_t>();
    case Lane::kS16:
      return f.template operator()<int16_t>();
    case Lane::kS32:
      return f.template operator()<int32_t>();
    case Lane::kS64:
      return f.template operator()<int64_t>();
    case Lane::kU8:
      return f.template operator()<uint8_t>();
    case Lane::kU16:
      return f.template operator()<uint16_t>();
    case Lane::kU32:
      return f.template operator()<uint32_t>();
    case Lane::kU64:
      return f.template operator()<uint64_t>();
    case Lane::kF32:
      return f.template operator()<float>();
    case Lane::kF64:
      return f.template operator()<double>();
    case Lane::kC64:
      return f.template operator()<std::complex<float>>();
    case Lane::kC128:
      return f.template operator()<std::complex<double>>();
  }
  __builtin_unreachable();
}

inline int64_t LaneBytes(Lane lane) {
  return DispatchLane(lane, []<class T>() { return static_cast<int64_t>(sizeof(T)); });
}

}  // namespace hlo::loops
