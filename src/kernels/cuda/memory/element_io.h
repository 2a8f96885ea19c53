#pragma once
// Loads and stores of elements of any type with conversion to and from the types of number.h (semantics 6.1):
// integers wrap, floats are rounded once, float-to-integer conversions truncate and saturate.

#include <type_traits>

#include "hlo_run/element_type.h"
#include "kernels/cuda/intrinsics/number.h"
#include "kernels/cuda/intrinsics/small_floats.h"

namespace hlo::cuda {

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<ComplexNumber<R>> {
  using type = R;
};

template <class R, class From>
HLO_DEVICE R ToReal(From value) {
  if constexpr (std::is_same_v<R, float> && std::is_integral_v<From>)
    return static_cast<float>(value);
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<R>)
    return static_cast<R>(static_cast<int64_t>(value));
  else
    return static_cast<R>(value);
}

template <class Stored, class R>
HLO_DEVICE R LoadReal(const void* data, int64_t offset) {
  return ToReal<R>(static_cast<const Stored*>(data)[offset]);
}

// Loads a real element as R.
template <class R>
HLO_DEVICE R LoadRealElement(ElementType type, const void* data, int64_t offset) {
  switch (type) {
    case ElementType::kPred:
    case ElementType::kU1:
    case ElementType::kU2:
    case ElementType::kU4:
    case ElementType::kU8:
      return LoadReal<uint8_t, R>(data, offset);
    case ElementType::kS1:
    case ElementType::kS2:
    case ElementType::kS4:
    case ElementType::kS8:
      return LoadReal<int8_t, R>(data, offset);
    case ElementType::kS16:
      return LoadReal<int16_t, R>(data, offset);
    case ElementType::kU16:
      return LoadReal<uint16_t, R>(data, offset);
    case ElementType::kS32:
      return LoadReal<int32_t, R>(data, offset);
    case ElementType::kU32:
      return LoadReal<uint32_t, R>(data, offset);
    case ElementType::kS64:
      return LoadReal<int64_t, R>(data, offset);
    case ElementType::kU64:
      return LoadReal<uint64_t, R>(data, offset);
    case ElementType::kF32:
      return LoadReal<float, R>(data, offset);
    case ElementType::kF64:
      return LoadReal<double, R>(data, offset);
    case ElementType::kF16:
    case ElementType::kBF16:
      return ToReal<R>(DecodeSmall(FormatOf(type), static_cast<const uint16_t*>(data)[offset]));
    default:
      return ToReal<R>(DecodeSmall(FormatOf(type), static_cast<const uint8_t*>(data)[offset]));
  }
}

template <class T>
HLO_DEVICE_CALLED T LoadElement(ElementType type, const void* data, int64_t offset) {
  using R = typename RealOf<T>::type;
  if constexpr (std::is_same_v<T, R>) {
    return LoadRealElement<R>(type, data, offset);
  } else {
    if (type == ElementType::kC64) {
      const ComplexNumber<float> value = static_cast<const ComplexNumber<float>*>(data)[offset];
      return {static_cast<R>(value.re), static_cast<R>(value.im)};
    }
    if (type == ElementType::kC128) {
      const ComplexNumber<double> value = static_cast<const ComplexNumber<double>*>(data)[offset];
      return {static_cast<R>(value.re), static_cast<R>(value.im)};
    }
    return {LoadRealElement<R>(type, data, offset), R{}};
  }
}

// The same, inlined for T's own type and bf16; other types take a call.
template <class T>
HLO_DEVICE T LoadCommonElement(ElementType type, const void* data, int64_t offset) {
  if constexpr (std::is_same_v<T, float>) {
    if (type == ElementType::kF32) return static_cast<const float*>(data)[offset];
    if (type == ElementType::kBF16) {
      const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(data)[offset]) << 16;
      float value;
      __builtin_memcpy(&value, &bits, sizeof value);
      return value;
    }
  } else if constexpr (std::is_same_v<T, double>) {
    if (type == ElementType::kF64) return static_cast<const double*>(data)[offset];
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    if (type == ElementType::kU32 || type == ElementType::kS32)
      return static_cast<const uint32_t*>(data)[offset];
  } else if constexpr (std::is_same_v<T, ComplexNumber<float>>) {
    if (type == ElementType::kC64) return static_cast<const T*>(data)[offset];
  }
  return LoadElement<T>(type, data, offset);
}

// Truncates and saturates; NaN gives 0.
HLO_DEVICE int64_t SaturatedSigned(double value, int bits) {
  const int64_t high = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1), low = -high - 1;
  if (!(value == value)) return 0;
  if (value >= static_cast<double>(high)) return high;
  if (value <= static_cast<double>(low)) return low;
  return static_cast<int64_t>(value);
}
HLO_DEVICE uint64_t SaturatedUnsigned(double value, int bits) {
  const uint64_t high = ~uint64_t{0} >> (64 - bits);
  if (!(value > 0)) return 0;
  if (value >= static_cast<double>(high)) return high;
  return static_cast<uint64_t>(value);
}

// Returns the low `bits` bits of an integer, sign-extended, or the saturated value of a float.
template <class R>
HLO_DEVICE int64_t SignedOf(R sum, int bits) {
  if constexpr (std::is_floating_point_v<R>)
    return SaturatedSigned(static_cast<double>(sum), bits);
  else
    return static_cast<int64_t>(static_cast<uint64_t>(sum) << (64 - bits)) >> (64 - bits);
}
template <class R>
HLO_DEVICE uint64_t UnsignedOf(R sum, int bits) {
  if constexpr (std::is_floating_point_v<R>)
    return SaturatedUnsigned(static_cast<double>(sum), bits);
  else
    return static_cast<uint64_t>(sum) & ~uint64_t{0} >> (64 - bits);
}

template <class R>
HLO_DEVICE void StoreRealElement(ElementType type, void* data, int64_t offset, R sum) {
  switch (type) {
    case ElementType::kPred:
      static_cast<uint8_t*>(data)[offset] = sum != R{} ? 1 : 0;
      return;
    case ElementType::kS1:
    case ElementType::kS2:
    case ElementType::kS4:
    case ElementType::kS8: {
      const int bits = type == ElementType::kS1   ? 1
                       : type == ElementType::kS2 ? 2
                       : type == ElementType::kS4 ? 4
                                                  : 8;
      static_cast<int8_t*>(data)[offset] = static_cast<int8_t>(SignedOf(sum, bits));
      return;
    }
    case ElementType::kU1:
    case ElementType::kU2:
    case ElementType::kU4:
    case ElementType::kU8: {
      const int bits = type == ElementType::kU1   ? 1
                       : type == ElementType::kU2 ? 2
                       : type == ElementType::kU4 ? 4
                                                  : 8;
      static_cast<uint8_t*>(data)[offset] = static_cast<uint8_t>(UnsignedOf(sum, bits));
      return;
    }
    case ElementType::kS16:
      static_cast<int16_t*>(data)[offset] = static_cast<int16_t>(SignedOf(sum, 16));
      return;
    case ElementType::kU16:
      static_cast<uint16_t*>(data)[offset] = static_cast<uint16_t>(UnsignedOf(sum, 16));
      return;
    case ElementType::kS32:
      static_cast<int32_t*>(data)[offset] = static_cast<int32_t>(SignedOf(sum, 32));
      return;
    case ElementType::kU32:
      static_cast<uint32_t*>(data)[offset] = static_cast<uint32_t>(UnsignedOf(sum, 32));
      return;
    case ElementType::kS64:
      static_cast<int64_t*>(data)[offset] = SignedOf(sum, 64);
      return;
    case ElementType::kU64:
      static_cast<uint64_t*>(data)[offset] = UnsignedOf(sum, 64);
      return;
    case ElementType::kF32:
      static_cast<float*>(data)[offset] = static_cast<float>(sum);
      return;
    case ElementType::kF64:
      static_cast<double*>(data)[offset] = static_cast<double>(sum);
      return;
    case ElementType::kF16:
    case ElementType::kBF16:
      static_cast<uint16_t*>(data)[offset] =
          static_cast<uint16_t>(EncodeSmall(FormatOf(type), static_cast<double>(sum)));
      return;
    default:
      static_cast<uint8_t*>(data)[offset] =
          static_cast<uint8_t>(EncodeSmall(FormatOf(type), static_cast<double>(sum)));
      return;
  }
}

template <class T>
HLO_DEVICE_CALLED void StoreElement(ElementType type, void* data, int64_t offset, T sum) {
  using R = typename RealOf<T>::type;
  if constexpr (std::is_same_v<T, R>) {
    StoreRealElement<R>(type, data, offset, sum);
  } else if (type == ElementType::kC64) {
    static_cast<ComplexNumber<float>*>(data)[offset] = {static_cast<float>(sum.re),
                                                        static_cast<float>(sum.im)};
  } else {
    static_cast<ComplexNumber<double>*>(data)[offset] = {static_cast<double>(sum.re),
                                                         static_cast<double>(sum.im)};
  }
}

}  // namespace hlo::cuda
