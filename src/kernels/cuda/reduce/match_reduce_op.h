#pragma once
// Recognises the combiners (to_apply) of reductions and scatters that are a single operation.

#include <cstddef>
#include <optional>
#include <vector>

#include "base/check.h"
#include "hlo_run/module.h"
#include "kernels/cuda/reduce/reduce_op.h"

namespace hlo::cuda {

// Returns the operation if `function` applies one operation to two scalars of `type`, rounded to `type`.
// Returns nullopt for other functions and for types without an element class.
std::optional<ReduceOp> MatchReduceOp(const Computation& function, ElementType type);
// Returns the fold of an opcode, rounding aside; nullopt if there is none.
std::optional<ReduceOp> MatchReduceOp(Opcode opcode, ElementType type);
// Returns the identity element of a fold in its compute type: 16-bit floats are computed in f32.
std::vector<std::byte> IdentityOf(ReduceOp fold, ElementType type);

ElementKind KindOf(ElementType type);
// True if WithElement supports the type.
bool HasElement(ElementType type);

// Calls visit.template operator()<E>() with the element class of the type.
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
