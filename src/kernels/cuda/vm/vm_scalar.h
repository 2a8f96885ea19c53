#pragma once
// The instructions of vm.h for one element: the functions of types/scalar_ops.h, conversions and roundings.

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/intrinsics/small_floats.h"
#include "kernels/cuda/vm/vm.h"
#include "kernels/cuda/vm/vm_complex.h"
#include "types/scalar_ops.h"

namespace hlo::cuda {

// A value of any type, in 32-bit words.
template <int kWords>
struct alignas(4 * kWords) VmValue {
  uint32_t words[kWords];

  template <class T>
  HLO_DEVICE T As() const {
    static_assert(sizeof(T) <= sizeof(VmValue));
    T value;
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
  }
  template <class T>
  static HLO_DEVICE VmValue Of(T value) {
    static_assert(sizeof(T) <= sizeof(VmValue));
    VmValue result = {};
    __builtin_memcpy(result.words, &value, sizeof(T));
    return result;
  }
};

// The operation and its parameter.
struct VmExtra {
  VmOp op;
  uint16_t parameter;
};

// True if the function object F takes these operands and returns one of the type R.
template <class R, class F, class... T>
constexpr bool kMaps = false;
template <class R, class F, class... T>
requires std::is_invocable_v<F, T...>
constexpr bool kMaps<R, F, T...> = std::is_same_v<std::invoke_result_t<F, T...>, R>;

// Applies a function object of scalar_ops.h to as many operands as it takes. Returns `a` if it is not defined
// for the type; VmBuilder emits no such instruction.
template <class F, class T>
HLO_DEVICE T VmApply(int bits, T a, T b, T c) {
  if constexpr (kMaps<T, F, T>)
    return scalar::ForBits<F>(bits)(a);
  else if constexpr (kMaps<T, F, T, T>)
    return scalar::ForBits<F>(bits)(a, b);
  else if constexpr (kMaps<T, F, T, T, T>)
    return scalar::ForBits<F>(bits)(a, b, c);
  else
    return a;
}

template <class T>
HLO_DEVICE_CALLED T VmInteger(VmExtra extra, T a, T b, T c) {
  const int bits = extra.parameter;
  switch (extra.op) {
#define HLO_SCALAR_OP(name, ...) \
  case VmOp::k##name:            \
    return VmApply<scalar::name>(bits, a, b, c);
#include "hlo_run/opcodes.def"
    case VmOp::kNotPred:
      return a == 0 ? 1 : 0;
    case VmOp::kCut:
      return std::is_signed_v<T> ? static_cast<T>(scalar::SignedBits(a, bits))
                                 : static_cast<T>(scalar::UnsignedBits(a, bits));
    default:
      return a;
  }
}

HLO_DEVICE float VmRound(ElementType type, double value) {
  if (type == ElementType::kBF16) return BF16ToFloat(FloatToBF16(static_cast<float>(value)));
  if (type == ElementType::kF16) return F16ToFloat(FloatToF16(static_cast<float>(value)));
  const FloatFormat format = FormatOf(type);
  return static_cast<float>(DecodeSmall(format, EncodeSmall(format, value)));
}

template <class T>
HLO_DEVICE_CALLED T VmFloat(VmExtra extra, T a, T b, T c) {
  switch (extra.op) {
#define HLO_SCALAR_OP(name, ...) \
  case VmOp::k##name:            \
    return VmApply<scalar::name>(extra.parameter, a, b, c);
#include "hlo_run/opcodes.def"
    case VmOp::kReducePrecision:
      return scalar::ReducePrecision(a, extra.parameter >> 8, extra.parameter & 0xff);
    default:
      return a;
  }
}

template <class T>
HLO_DEVICE bool VmCompare(VmOp op, T a, T b) {
  switch (op) {
    case VmOp::kEq:
      return a == b;
    case VmOp::kNe:
      return a != b;
    case VmOp::kGe:
      return a >= b;
    case VmOp::kGt:
      return a > b;
    case VmOp::kLe:
      return a <= b;
    default:
      return a < b;
  }
}

// Converts with the semantics of the reference (2.1 to 2.3).
template <class To, class From>
HLO_DEVICE To VmConvert(From value, int bits) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_signed_v<To>)
      return static_cast<To>(scalar::ToSigned(static_cast<double>(value), bits));
    else
      return static_cast<To>(scalar::ToUnsigned(static_cast<double>(value), bits));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace hlo::cuda
