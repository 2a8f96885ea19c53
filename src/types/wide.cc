#include "types/wide.h"

namespace hlo {
namespace {

// Convert a Native<kType> to its wide type and back.
template <ElementType kType, Wide W>
W Widen(const Native<kType>& value) {
  using T = Native<kType>;
  if constexpr (std::is_same_v<W, double> && !std::is_floating_point_v<T>)
    return value.ToFloat();
  else
    return static_cast<W>(value);
}

template <ElementType kType, Wide W>
Native<kType> Narrow(W value) {
  using T = Native<kType>;
  if constexpr (std::is_same_v<W, double> && !std::is_floating_point_v<T>) {
    return T::FromFloat(static_cast<float>(value));
  } else if constexpr (std::is_same_v<W, int64_t>) {
    return static_cast<T>(SignExtend(value, BitWidth(kType)));
  } else if constexpr (std::is_same_v<W, uint64_t>) {
    return static_cast<T>(ZeroExtend(value, BitWidth(kType)));
  } else if constexpr (std::is_same_v<W, std::complex<double>>) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
  } else {
    return static_cast<T>(value);
  }
}

template <ElementType kType, Wide W>
constexpr bool kMatches = [] {
  using T = Native<kType>;
  if constexpr (std::is_same_v<T, bool>)
    return std::is_same_v<W, bool>;
  else if constexpr (std::is_integral_v<T>)
    return std::is_same_v<W, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return std::is_same_v<W, std::complex<double>>;
  else
    return std::is_same_v<W, double>;
}();

}  // namespace

template <Wide W>
LoadFn<W> Loader(ElementType type) {
  return DispatchType(type, []<ElementType kType>() -> LoadFn<W> {
    if constexpr (kMatches<kType, W>) {
      return [](const void* data, int64_t i) {
        return Widen<kType, W>(static_cast<const Native<kType>*>(data)[i]);
      };
    } else {
      HLO_CHECK(false && "Loader: not the wide type of this element type");
      return nullptr;
    }
  });
}

template <Wide W>
StoreFn<W> Storer(ElementType type) {
  return DispatchType(type, []<ElementType kType>() -> StoreFn<W> {
    if constexpr (kMatches<kType, W>) {
      return [](void* data, int64_t i, W value) {
        static_cast<Native<kType>*>(data)[i] = Narrow<kType, W>(value);
      };
    } else {
      HLO_CHECK(false && "Storer: not the wide type of this element type");
      return nullptr;
    }
  });
}

template <Wide W>
W RoundTo(ElementType type, W value) {
  return DispatchType(type, [&]<ElementType kType>() -> W {
    if constexpr (kMatches<kType, W>) return Widen<kType, W>(Narrow<kType, W>(value));
    HLO_CHECK(false && "RoundTo: not the wide type of this element type");
    return W{};
  });
}

#define HLO_INSTANTIATE(W)                    \
  template LoadFn<W> Loader<W>(ElementType);  \
  template StoreFn<W> Storer<W>(ElementType); \
  template W RoundTo<W>(ElementType, W);
HLO_INSTANTIATE(bool)
HLO_INSTANTIATE(int64_t)
HLO_INSTANTIATE(uint64_t)
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(std::complex<double>)
#undef HLO_INSTANTIATE

}  // namespace hlo
