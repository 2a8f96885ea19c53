#include "kernels/cuda/find_fold.h"

namespace hlo::cuda {
namespace {

// What is widened to f32 first, as compilers write arithmetic of 16-bit floats: the operation rounds the
// same.
const Instruction* Unwidened(const Instruction* value, ElementType type) {
  const bool widens = value->opcode() == Opcode::kConvert && value->shape().IsArray(ElementType::kF32) &&
                      (type == ElementType::kF16 || type == ElementType::kBF16) &&
                      value->operand(0)->shape().IsArray(type);
  return widens ? value->operand(0) : value;
}

std::optional<Fold> FoldOf(Opcode opcode, ElementType type) {
  const bool pred = IsPred(type), integral = IsIntegral(type), complex = IsComplex(type);
  switch (opcode) {
    case Opcode::kAdd:
      return pred ? Fold::kOr : Fold::kAdd;
    case Opcode::kMultiply:
      if (complex) return std::nullopt;
      return pred ? Fold::kAnd : Fold::kMultiply;
    case Opcode::kMaximum:
      if (complex) return std::nullopt;
      return pred ? Fold::kOr : Fold::kMaximum;
    case Opcode::kMinimum:
      if (complex) return std::nullopt;
      return pred ? Fold::kAnd : Fold::kMinimum;
    case Opcode::kAnd:
      if (pred || integral) return Fold::kAnd;
      return std::nullopt;
    case Opcode::kOr:
      if (pred || integral) return Fold::kOr;
      return std::nullopt;
    case Opcode::kXor:
      if (pred || integral) return Fold::kXor;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool HasElement(ElementType type) {
  if (IsPred(type) || IsIntegral(type)) return !IsSubByte(type);
  return IsComplex(type) || type == ElementType::kF16 || type == ElementType::kBF16 ||
         type == ElementType::kF32 || type == ElementType::kF64;
}

ElementKind KindOf(ElementType type) {
  return {IsSigned(type) ? uint64_t{1} << (BitWidth(type) - 1) : 0, type == ElementType::kBF16};
}

std::optional<Fold> FindFold(const Computation& function, ElementType type) {
  if (!HasElement(type)) return std::nullopt;
  for (const Instruction* parameter : function.parameters()) {
    if (!parameter->shape().IsArray(type) || !parameter->shape().IsScalar()) return std::nullopt;
  }
  if (function.parameters().size() != 2 || !function.root()->shape().IsArray(type)) return std::nullopt;
  const Instruction* root = function.root();
  if (root->opcode() == Opcode::kCopy) root = root->operand(0);
  if (root == function.parameter(1)) return Fold::kSecond;
  if (root->opcode() == Opcode::kConvert && root->operand(0)->shape().IsArray(ElementType::kF32) &&
      (type == ElementType::kF16 || type == ElementType::kBF16))
    root = root->operand(0);
  if (root->operand_count() != 2) return std::nullopt;
  const Instruction *a = Unwidened(root->operand(0), type), *b = Unwidened(root->operand(1), type);
  if (!(a == function.parameter(0) && b == function.parameter(1)) &&
      !(a == function.parameter(1) && b == function.parameter(0)))
    return std::nullopt;
  return FoldOf(root->opcode(), type);
}

}  // namespace hlo::cuda
