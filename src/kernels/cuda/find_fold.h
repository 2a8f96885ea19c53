#pragma once
// Which operation is the body of a reduction or a scatter?

#include <cstddef>
#include <optional>
#include <vector>

#include "base/check.h"
#include "hlo_run/module.h"
#include "kernels/cuda/folds.h"

namespace hlo::cuda {

// A function of two scalars of this type that is one operation on both, rounded to the type; nullopt for
// other functions, and for types that kernels have no elements of.
std::optional<Fold> FindFold(const Computation& function, ElementType type);
// The fold that an operation is, rounding apart; nullopt: none.
std::optional<Fold> FindFold(Opcode opcode, ElementType type);
// fold(identity, x) = x, as a lane: 16-bit floats are computed in f32.
std::vector<std::byte> IdentityOf(Fold fold, ElementType type);

ElementKind KindOf(ElementType type);
// Whether there are elements of the type, in WithElement.
bool HasElement(ElementType type);

// visit.template operator()<E>() with the element of the type.
template <class Visit>
decltype(auto) WithElement(ElementType type, Visit&& visit) {
  switch (type) {
    case ElementType::kF16:
    case ElementType::kBF16:
      return visit.template operator()<HalfElement>();
    case ElementType::kF32:
      return visit.template operator()<FloatElement<float>>();
    case ElementType::kF64:
      return visit.template operator()<FloatElement<double>>();
    case ElementType::kC64:
      return visit.template operator()<ComplexElement<float>>();
    case ElementType::kC128:
      return visit.template operator()<ComplexElement<double>>();
    default:
      break;
  }
  HLO_CHECK(HasElement(type));
  switch (ByteCount(type)) {
    case 1:
      return visit.template operator()<IntegerElement<uint8_t>>();
    case 2:
      return visit.template operator()<IntegerElement<uint16_t>>();
    case 4:
      return visit.template operator()<IntegerElement<uint32_t>>();
    default:
      return visit.template operator()<IntegerElement<uint64_t>>();
  }
}

}  // namespace hlo::cuda
