#pragma once
// The native types in which loops compute.

#include <complex>
#include <cstdint>

#include "hlo_run/element_type.h"

namespace hlo::loops {

// The native type in which elements are computed. Floats of at most 16 bits are f32, rounded after every
// operation; integers of fewer than 8 bits are s8 and u8, truncated after every operation.
enum class ComputeType : uint8_t {
  kPred,
  kS8,
  kS16,
  kS32,
  kS64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF32,
  kF64,
  kC64,
  kC128
};

ComputeType ComputeTypeOf(ElementType type);
// Returns true if the storage type equals the compute type.
bool IsStoredAsComputed(ElementType type);
// Widens an element from its storage type to its compute type.
void LoadAsComputed(ElementType type, const void* element, void* compute_type);
// Returns an integer scalar of any type; values beyond int64_t saturate.
int64_t ReadInteger(ElementType type, const void* data);
// Returns an unsigned type of the same width, which preserves all bits.
ElementType BytesOf(ElementType type);

// Calls f.template operator()<T>() with the compute type's C++ type.
template <class F>
decltype(auto) DispatchComputeType(ComputeType compute_type, F&& f) {
  switch (compute_type) {
    case ComputeType::kPred:
      return f.template operator()<bool>();
    case ComputeType::kS8:
      return f.template operator()<int8_t>();
    case ComputeType::kS16:
      return f.template operator()<int16_t>();
    case ComputeType::kS32:
      return f.template operator()<int32_t>();
    case ComputeType::kS64:
      return f.template operator()<int64_t>();
    case ComputeType::kU8:
      return f.template operator()<uint8_t>();
    case ComputeType::kU16:
      return f.template operator()<uint16_t>();
    case ComputeType::kU32:
      return f.template operator()<uint32_t>();
    case ComputeType::kU64:
      return f.template operator()<uint64_t>();
    case ComputeType::kF32:
      return f.template operator()<float>();
    case ComputeType::kF64:
      return f.template operator()<double>();
    case ComputeType::kC64:
      return f.template operator()<std::complex<float>>();
    case ComputeType::kC128:
      return f.template operator()<std::complex<double>>();
  }
  __builtin_unreachable();
}

inline int64_t ComputeTypeBytes(ComputeType compute_type) {
  return DispatchComputeType(compute_type, []<class T>() { return static_cast<int64_t>(sizeof(T)); });
}

}  // namespace hlo::loops
