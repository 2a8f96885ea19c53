// This file chooses the code of the operations of native loops.

#include "kernels/cpu/loops/native_emitter.h"
#include "kernels/cpu/loops/native_instructions.h"

namespace hlo::cpu {
namespace {

using native::ColumnOf;
using native::IsFloatComputeType;
using native::IsSignedComputeType;
using native::Simple;

// The instructions of an opcode, by ColumnOf.
struct Instructions {
  Opcode opcode;
  Simple of[6];
};
constexpr Instructions kInstructions[] = {
    {Opcode::kAdd,
     {HLO_THREE(vpaddb), HLO_THREE(vpaddw), HLO_THREE(vpaddd), HLO_THREE(vpaddq), HLO_THREE(vaddps),
      HLO_THREE(vaddpd)}},
    {Opcode::kSubtract,
     {HLO_THREE(vpsubb), HLO_THREE(vpsubw), HLO_THREE(vpsubd), HLO_THREE(vpsubq), HLO_THREE(vsubps),
      HLO_THREE(vsubpd)}},
    {Opcode::kMultiply,
     {nullptr, HLO_THREE(vpmullw), HLO_THREE(vpmulld), HLO_THREE(vpmullq), HLO_THREE(vmulps),
      HLO_THREE(vmulpd)}},
    {Opcode::kDivide, {nullptr, nullptr, nullptr, nullptr, HLO_THREE(vdivps), HLO_THREE(vdivpd)}},
    {Opcode::kAnd, {HLO_THREE(vpandd), HLO_THREE(vpandd), HLO_THREE(vpandd), HLO_THREE(vpandd)}},
    {Opcode::kOr, {HLO_THREE(vpord), HLO_THREE(vpord), HLO_THREE(vpord), HLO_THREE(vpord)}},
    {Opcode::kXor, {HLO_THREE(vpxord), HLO_THREE(vpxord), HLO_THREE(vpxord), HLO_THREE(vpxord)}},
    // Counts beyond the width shift out all bits, as HLO defines.
    {Opcode::kShiftLeft, {nullptr, HLO_THREE(vpsllvw), HLO_THREE(vpsllvd), HLO_THREE(vpsllvq)}},
    {Opcode::kShiftRightLogical, {nullptr, HLO_THREE(vpsrlvw), HLO_THREE(vpsrlvd), HLO_THREE(vpsrlvq)}},
    {Opcode::kShiftRightArithmetic, {nullptr, HLO_THREE(vpsravw), HLO_THREE(vpsravd), HLO_THREE(vpsravq)}},
    {Opcode::kSqrt, {nullptr, nullptr, nullptr, nullptr, HLO_TWO(vsqrtps), HLO_TWO(vsqrtpd)}},
    {Opcode::kCountLeadingZeros, {nullptr, nullptr, HLO_TWO(vplzcntd), HLO_TWO(vplzcntq)}},
};
constexpr Simple kAbs[4] = {HLO_TWO(vpabsb), HLO_TWO(vpabsw), HLO_TWO(vpabsd), HLO_TWO(vpabsq)};

// Returns the instruction of an operation; null if it has none.
Simple InstructionOf(Opcode opcode, ComputeType compute_type) {
  const int column = ColumnOf(compute_type);
  if (!IsFloatComputeType(compute_type)) {
    if (opcode == Opcode::kMaximum) return native::kMaximum[IsSignedComputeType(compute_type)][column];
    if (opcode == Opcode::kMinimum) return native::kMinimum[IsSignedComputeType(compute_type)][column];
    if (opcode == Opcode::kAbs && IsSignedComputeType(compute_type)) return kAbs[column];
  }
  for (const Instructions& each : kInstructions) {
    if (each.opcode == opcode) return each.of[column];
  }
  return nullptr;
}

// Returns true if masks hold the operands and the result of an operation on predicates.
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
  if (!found) op.call = FindTileCall(operation);
  return found || op.call.function != nullptr;
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
      if (is_float || ComputeTypeBytes(compute_type) > 4 || lanes_ * 4 > native::kRegisterBytes) break;
      return use(&NativeEmitter::EmitDivide);
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
    case Opcode::kExponential:
    case Opcode::kLogistic:
    case Opcode::kTanh:
      // Other targets compute f32 without fused multiply-add.
      if (compute_type != ComputeType::kF32 || VectorFunctionOf(opcode, compute_type) == nullptr) break;
      return use(&NativeEmitter::EmitExponential);
    default:
      break;
  }
  op.function = VectorFunctionOf(opcode, compute_type);
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

}  // namespace hlo::cpu
