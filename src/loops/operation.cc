#include "loops/operation.h"

#include <algorithm>
#include <type_traits>

#include "types/scalar_ops.h"

namespace hlo::loops {

using Kind = Operation::Kind;

namespace {

// True if the opcode's function takes operands of this compute type.
bool IsDefined(Opcode opcode, ComputeType compute_type) {
  return DispatchComputeType(compute_type, [&]<class T>() {
    switch (opcode) {
#define HLO_SCALAR_OP(name, ...)                                                              \
  case Opcode::k##name:                                                                       \
    return std::is_invocable_v<scalar::name, T> || std::is_invocable_v<scalar::name, T, T> || \
           std::is_invocable_v<scalar::name, T, T, T>;
#include "hlo_run/opcodes.def"
      default:
        return false;
    }
  });
}

}  // namespace

std::optional<Operation> FindScalarOperation(Opcode opcode, ElementType from) {
  if (!IsDefined(opcode, ComputeTypeOf(from))) return std::nullopt;
  return Operation{.kind = Kind::kScalar, .opcode = opcode, .from = from};
}

std::optional<Operation> FindRoundedOperation(Opcode opcode, ElementType type) {
  if (type != ElementType::kBF16) return std::nullopt;
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kDivide:
    case Opcode::kMultiply:
    case Opcode::kSqrt:
    case Opcode::kSubtract:
      return Operation{.kind = Kind::kRoundedScalar, .opcode = opcode, .from = type, .to = type};
    default:
      return std::nullopt;
  }
}

std::optional<Operation> FindCompare(ComparisonDirection direction, bool total_order, ElementType from) {
  const bool is_equality = direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe;
  if (IsComplex(from) && !is_equality) return std::nullopt;
  return Operation{.kind = Kind::kCompare, .from = from, .direction = direction, .total_order = total_order};
}

Operation SelectOf(ElementType type) { return {.kind = Kind::kSelect, .from = type, .to = type}; }

std::optional<Operation> FindConvert(ElementType from, ElementType to) {
  if (IsComplex(from) && !IsComplex(to) && !IsPred(to)) return std::nullopt;
  return Operation{.kind = Kind::kConvert, .from = from, .to = to};
}

std::optional<Operation> FindStochasticConvert(ElementType from, ElementType random, ElementType to) {
  const bool is_random = IsIntegral(random) && !IsSigned(random);
  if (!IsFloat(from) || !is_random || !IsIntegral(to) || !IsSigned(to)) return std::nullopt;
  return Operation{.kind = Kind::kStochastic,
                   .from = from,
                   .to = to,
                   .random_bits = static_cast<uint8_t>(BitWidth(random))};
}

std::optional<Operation> FindBitcast(ElementType from, ElementType to) {
  const int64_t width = BitWidth(from);
  // A pred is stored as a byte that is 0 or 1.
  if ((IsPred(from) && BitWidth(to) == 8 && IsIntegral(to)) || (IsPred(to) && width == 8 && IsIntegral(from)))
    return FindConvert(from, to);
  if (width < 8 && width == BitWidth(to) && IsIntegral(from) && IsIntegral(to)) return FindRounding(to);
  // A bf16 and its compute type hold the same value.
  const bool is_bf16 = (from == ElementType::kBF16 && IsStoredAsComputed(to)) ||
                       (to == ElementType::kBF16 && IsStoredAsComputed(from));
  const bool are_lanes = width >= 8 && IsStoredAsComputed(from) && IsStoredAsComputed(to);
  if (width != BitWidth(to) || (!is_bf16 && !are_lanes)) return std::nullopt;
  return Operation{.kind = Kind::kBits, .from = from, .to = to};
}

std::optional<Operation> FindReducePrecision(ElementType type, int64_t exponent_bits, int64_t mantissa_bits) {
  if (!IsFloat(type)) return std::nullopt;
  return Operation{.kind = Kind::kReducePrecision,
                   .from = type,
                   .to = type,
                   .exponent_bits = static_cast<uint8_t>(std::min<int64_t>(exponent_bits, 64)),
                   .mantissa_bits = static_cast<uint8_t>(std::min<int64_t>(mantissa_bits, 64))};
}

std::optional<Operation> FindRounding(ElementType type) {
  if (IsIntegral(type) ? BitWidth(type) >= 8 : IsStoredAsComputed(type)) return std::nullopt;
  return Operation{.kind = Kind::kRound, .from = type, .to = type};
}

}  // namespace hlo::loops
