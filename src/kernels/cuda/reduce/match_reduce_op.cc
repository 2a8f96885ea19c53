#include "kernels/cuda/reduce/match_reduce_op.h"

#include <limits>

namespace hlo::cuda {
namespace {

// Looks through a widening conversion to f32, which compilers emit around 16-bit float arithmetic; the fused
// operation rounds identically.
const Instruction* Unwidened(const Instruction* value, ElementType type) {
  const bool widens = value->opcode() == Opcode::kConvert && value->shape().IsArray(ElementType::kF32) &&
                      (type == ElementType::kF16 || type == ElementType::kBF16) &&
                      value->operand(0)->shape().IsArray(type);
  return widens ? value->operand(0) : value;
}

}  // namespace

std::optional<ReduceOp> MatchReduceOp(Opcode opcode, ElementType type) {
  const bool pred = IsPred(type), integral = IsIntegral(type), complex = IsComplex(type);
  switch (opcode) {
    case Opcode::kAdd:
      return pred ? ReduceOp::kOr : ReduceOp::kAdd;
    case Opcode::kMultiply:
      if (complex) return std::nullopt;
      return pred ? ReduceOp::kAnd : ReduceOp::kMultiply;
    case Opcode::kMaximum:
      if (complex) return std::nullopt;
      return pred ? ReduceOp::kOr : ReduceOp::kMaximum;
    case Opcode::kMinimum:
      if (complex) return std::nullopt;
      return pred ? ReduceOp::kAnd : ReduceOp::kMinimum;
    case Opcode::kAnd:
      if (pred || integral) return ReduceOp::kAnd;
      return std::nullopt;
    case Opcode::kOr:
      if (pred || integral) return ReduceOp::kOr;
      return std::nullopt;
    case Opcode::kXor:
      if (pred || integral) return ReduceOp::kXor;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool HasElement(ElementType type) {
  if (IsPred(type) || IsIntegral(type)) return !IsSubByte(type);
  return IsComplex(type) || type == ElementType::kF16 || type == ElementType::kBF16 ||
         type == ElementType::kF32 || type == ElementType::kF64;
}

ElementKind KindOf(ElementType type) {
  return {IsSigned(type) ? uint64_t{1} << (BitWidth(type) - 1) : 0, type == ElementType::kBF16};
}

std::optional<ReduceOp> MatchReduceOp(const Computation& function, ElementType type) {
  if (!HasElement(type)) return std::nullopt;
  for (const Instruction* parameter : function.parameters()) {
    if (!parameter->shape().IsArray(type) || !parameter->shape().IsScalar()) return std::nullopt;
  }
  if (function.parameters().size() != 2 || !function.root()->shape().IsArray(type)) return std::nullopt;
  const Instruction* root = function.root();
  if (root->opcode() == Opcode::kCopy) root = root->operand(0);
  if (root == function.parameter(1)) return ReduceOp::kSecond;
  if (root->opcode() == Opcode::kConvert && root->operand(0)->shape().IsArray(ElementType::kF32) &&
      (type == ElementType::kF16 || type == ElementType::kBF16))
    root = root->operand(0);
  if (root->operand_count() != 2) return std::nullopt;
  const Instruction *a = Unwidened(root->operand(0), type), *b = Unwidened(root->operand(1), type);
  if (!(a == function.parameter(0) && b == function.parameter(1)) &&
      !(a == function.parameter(1) && b == function.parameter(0)))
    return std::nullopt;
  return MatchReduceOp(root->opcode(), type);
}

std::vector<std::byte> IdentityOf(ReduceOp fold, ElementType type) {
  const auto bytes = [](const auto&... parts) {
    std::vector<std::byte> all;
    const auto append = [&](const auto& part) {
      const auto* at = reinterpret_cast<const std::byte*>(&part);
      all.insert(all.end(), at, at + sizeof part);
    };
    (append(parts), ...);
    return all;
  };
  const auto of = [&]<class T>(T) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    switch (fold) {
      case ReduceOp::kMultiply:
        return bytes(T{1});
      case ReduceOp::kMaximum:
        return bytes(-kInfinity);
      case ReduceOp::kMinimum:
        return bytes(kInfinity);
      default:
        return bytes(-T{0});
    }
  };
  if (type == ElementType::kF64) return of(0.0);
  if (IsFloat(type)) return of(0.0f);
  if (type == ElementType::kC64) return bytes(-0.0f, -0.0f);
  if (type == ElementType::kC128) return bytes(-0.0, -0.0);
  const uint64_t sign = KindOf(type).sign, all = ~uint64_t{0};
  switch (fold) {
    case ReduceOp::kMultiply:
      return bytes(uint64_t{1});
    case ReduceOp::kMaximum:
      return bytes(sign);
    case ReduceOp::kMinimum:
      return bytes(sign == 0 ? all : sign - 1);
    case ReduceOp::kAnd:
      return bytes(all);
    default:
      return bytes(uint64_t{0});
  }
}

}  // namespace hlo::cuda
