#pragma once
// Dispatches from a run-time element type to a compile-time one. Callers dispatch once, as far out as
// possible; no other file switches over element types.

#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "hlo_run/element_type.h"
#include "types/small_float.h"

namespace hlo {

template <ElementType kType>
struct NativeOf;
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) \
  template <>                                                           \
  struct NativeOf<ElementType::k##name> {                               \
    using type = storage;                                               \
  };
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
// The C++ type of one element in memory.
template <ElementType kType>
using Native = typename NativeOf<kType>::type;

// Returns f.template operator()<kType>() for this type. All instantiations must return the same type.
template <class F>
decltype(auto) DispatchType(ElementType type, F&& f) {
  switch (type) {
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) \
  case ElementType::k##name:                                            \
    return std::forward<F>(f).template operator()<ElementType::k##name>();
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
  }
  HLO_CHECK(false);
  __builtin_unreachable();
}

// The five wide types, in which the reference computes.
template <class W>
concept Wide = std::is_same_v<W, bool> || std::is_same_v<W, int64_t> || std::is_same_v<W, uint64_t> ||
    std::is_same_v<W, double> || std::is_same_v<W, std::complex<double>>;

template <TypeClass kClass>
struct WideOfClass;
template <>
struct WideOfClass<TypeClass::kPred> {
  using type = bool;
};
template <>
struct WideOfClass<TypeClass::kSigned> {
  using type = int64_t;
};
template <>
struct WideOfClass<TypeClass::kUnsigned> {
  using type = uint64_t;
};
template <>
struct WideOfClass<TypeClass::kFloat> {
  using type = double;
};
template <>
struct WideOfClass<TypeClass::kComplex> {
  using type = std::complex<double>;
};

// Returns f.template operator()<W>(), where W is the wide type of the element type's class.
template <class F>
decltype(auto) DispatchWide(ElementType type, F&& f) {
  switch (Info(type).type_class) {
    case TypeClass::kPred:
      return std::forward<F>(f).template operator()<bool>();
    case TypeClass::kSigned:
      return std::forward<F>(f).template operator()<int64_t>();
    case TypeClass::kUnsigned:
      return std::forward<F>(f).template operator()<uint64_t>();
    case TypeClass::kFloat:
      return std::forward<F>(f).template operator()<double>();
    case TypeClass::kComplex:
      return std::forward<F>(f).template operator()<std::complex<double>>();
  }
  HLO_CHECK(false);
  __builtin_unreachable();
}

}  // namespace hlo
