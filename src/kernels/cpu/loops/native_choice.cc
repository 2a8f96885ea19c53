// This file chooses the code of the operations of native loops.

#include "kernels/cpu/loops/native_emitter.h"
#include "kernels/cpu/loops/native_instructions.h"
#include "kernels/cpu/simd/vector_functions.h"
#include "kernels/cpu/simd/vector_roots.h"

namespace hlo::cpu {
namespace {

using native::IsFloatComputeType;
using native::IsSignedComputeType;

// Returns true if an operation on predicates has code.
bool IsOnMasks(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kNot:
      return true;
    default:
      return false;
  }
}

}  // namespace

native::MaskOperation native::MaskOperationOf(const loops::Operation& operation) {
  using enum MaskOperation::Kind;
  if (operation.kind == loops::Operation::Kind::kCompare) {
    switch (operation.direction) {
      case ComparisonDirection::kEq:
        return {kXor, /*swaps=*/false, /*inverts=*/true};
      case ComparisonDirection::kNe:
        return {kXor};
      case ComparisonDirection::kGe:
        return {kAndNot, /*swaps=*/false, /*inverts=*/true};
      case ComparisonDirection::kGt:
        return {kAndNot, /*swaps=*/true};
      case ComparisonDirection::kLe:
        return {kAndNot, /*swaps=*/true, /*inverts=*/true};
      case ComparisonDirection::kLt:
        return {kAndNot};
    }
  }
  switch (operation.opcode) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kMaximum:
      return {kOr};
    case Opcode::kXor:
      return {kXor};
    case Opcode::kNot:
      return {kNot};
    default:
      return {kAnd};
  }
}

// Finds the code of an operation. Returns false if it has none.
bool NativeEmitter::Choose(Op& op) {
  using Kind = loops::Operation::Kind;
  const loops::Operation& operation = *op.operation;
  bool found = false;
  switch (operation.kind) {
    case Kind::kScalar:
    case Kind::kRoundedScalar:
      found = ChooseScalar(op);
      break;
    case Kind::kCompare:
      op.emitter = compute_type(op.in[0]) == ComputeType::kPred ? &NativeEmitter::EmitMask
                                                                : &NativeEmitter::EmitCompare;
      found = true;
      break;
    case Kind::kSelect:
      op.emitter = &NativeEmitter::EmitSelect;
      found = true;
      break;
    case Kind::kConvert:
      found = ChooseConvert(op);
      break;
    case Kind::kBits:
      if (operation.from == ElementType::kBF16 || operation.to == ElementType::kBF16)
        op.emitter = &NativeEmitter::EmitBitsOfBF16;
      else
        nodes_[op.out].root = nodes_[op.in[0]].root;
      found = true;
      break;
    case Kind::kRound:
      if (operation.to == ElementType::kBF16 || operation.to == ElementType::kF16) {
        op.emitter = &NativeEmitter::EmitRound;
        found = true;
      }
      break;
    default:
      break;
  }
  if (found) return true;
  op.call = FindTileCall(operation);
  return op.call.function != nullptr;
}

bool NativeEmitter::ChooseScalar(Op& op) {
  const ComputeType compute_type = nodes_[op.in[0]].compute_type;
  const Opcode opcode = op.operation->opcode;
  const auto use = [&](Emitter emitter) {
    op.emitter = emitter;
    return true;
  };
  if (compute_type == ComputeType::kPred) return IsOnMasks(opcode) && use(&NativeEmitter::EmitMask);
  op.simple = InstructionOf(opcode, compute_type);
  if (op.simple != nullptr) return use(&NativeEmitter::EmitSimple);
  const bool is_float = IsFloatComputeType(compute_type);
  switch (opcode) {
    case Opcode::kDivide:
    case Opcode::kRemainder:
      if (is_float || ComputeTypeBytes(compute_type) > 4 || lanes_ * 4 > vector_bytes_) break;
      return use(&NativeEmitter::EmitDivide);
    case Opcode::kMultiply:
      if (is_float || ComputeTypeBytes(compute_type) != 8) break;
      return use(&NativeEmitter::EmitMultiply);
    case Opcode::kShiftRightArithmetic:
      if (ComputeTypeBytes(compute_type) != 8) break;
      return use(&NativeEmitter::EmitShift);
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
      return use(&NativeEmitter::EmitExtreme);
    case Opcode::kAbs:
    case Opcode::kSign:
      return (is_float || IsSignedComputeType(compute_type)) && use(&NativeEmitter::EmitSigns);
    case Opcode::kNegate:
    case Opcode::kNot:
      return use(&NativeEmitter::EmitSigns);
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestEven:
    case Opcode::kRoundNearestAfz:
      return use(&NativeEmitter::EmitIntegral);
    case Opcode::kIsFinite:
      return use(&NativeEmitter::EmitIsFinite);
    case Opcode::kRsqrt:
      if (compute_type == ComputeType::kF64 && kApproximatesReciprocalRoots) break;
      return is_float && use(&NativeEmitter::EmitRsqrt);
    case Opcode::kExponential:
    case Opcode::kLogistic:
    case Opcode::kTanh:
      // Other targets compute f32 without fused multiply-add.
      if (compute_type != ComputeType::kF32 || !kFusesMulAdd) break;
      return use(&NativeEmitter::EmitExponential);
    case Opcode::kLog:
    case Opcode::kLogPlusOne:
      if (compute_type != ComputeType::kF32 || !kFusesMulAdd) break;
      return use(&NativeEmitter::EmitLogarithm);
    default:
      break;
  }
  // The functions have vectors of the size for which this file is compiled.
  if (vector_bytes_ == kVectorBytes) op.function = VectorFunctionOf(opcode, compute_type);
  return op.function != nullptr;
}

bool NativeEmitter::ChooseConvert(Op& op) {
  const ComputeType from = compute_type(op.in[0]), to = compute_type(op.out);
  const ElementType type = op.operation->to;
  // Conversions from f64 to small floats round once.
  if (from == ComputeType::kF64 && to == ComputeType::kF32 && type != ElementType::kF32 &&
      BitWidth(type) <= 8)
    return false;
  const auto use = [&](Emitter emitter) {
    op.emitter = emitter;
    return true;
  };
  if (from == to || (!IsFloatComputeType(from) && !IsFloatComputeType(to) && from != ComputeType::kPred &&
                     to != ComputeType::kPred && ComputeTypeBytes(from) == ComputeTypeBytes(to))) {
    nodes_[op.out].root = nodes_[op.in[0]].root;
    return true;
  }
  if (to == ComputeType::kPred) return use(&NativeEmitter::EmitToPred);
  if (from == ComputeType::kPred) return use(&NativeEmitter::EmitFromPred);
  if (IsFloatComputeType(from) && !IsFloatComputeType(to)) return use(&NativeEmitter::EmitFloatToInteger);
  return use(&NativeEmitter::EmitConvert);
}

// Emits maximum, minimum and clamp.
void NativeEmitter::EmitExtreme(const Op& op) {
  const ComputeType compute_type = nodes_[op.out].compute_type;
  const bool clamps = op.operation->opcode == Opcode::kClamp;
  const Xmm a = Use(op.in[0]), b = Use(op.in[1]);
  if (!clamps) return Extreme(Define(op.out), a, b, op.operation->opcode == Opcode::kMaximum, compute_type);
  const Xmm high = Use(op.in[2]);
  const Xmm out = Define(op.out), larger = Temporary(2, nodes_[op.out].width);
  Extreme(larger, a, b, true, compute_type);
  Extreme(out, larger, high, false, compute_type);
}

void NativeEmitter::EmitRsqrt(const Op& op) {
  const ComputeType compute_type = nodes_[op.out].compute_type;
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out), root = Temporary(0, nodes_[op.out].width);
  if (compute_type == ComputeType::kF64) {
    vsqrtpd(root, a);
    Splat(out, 8, internal::kBitsOfOneF64);
    vdivpd(out, out, root);
  } else {
    vsqrtps(root, a);
    Splat(out, 1.0f);
    vdivps(out, out, root);
  }
}

void NativeEmitter::EmitSimple(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const int last = op.operand_count - 1;
  const Operand& b = Any(op.in[last]);
  const bool rounds = op.operation->kind == loops::Operation::Kind::kRoundedScalar;
  op.simple(*this, Define(op.out), a, b);
  // The operands are exact in bf16, and so are the NaNs.
  if (rounds) RoundToBF16(Register(node(op.out).reg, 4), true);
}

}  // namespace hlo::cpu
