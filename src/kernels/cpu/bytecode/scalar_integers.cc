// This file emits machine code for operations on scalar integers.

#include <bit>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "kernels/cpu/bytecode/opcodes.h"
#include "kernels/cpu/bytecode/scalar_emitter.h"

namespace hlo::cpu {

bool ScalarEmitter::EmitInteger(const MicroOp& op, const Effects& effects) {
  switch (op.code) {
#define HLO_ARITHMETIC_CASES(Kind, bytes)      \
  case kAdd##Kind:                             \
  case kSubtract##Kind:                        \
  case kMultiply##Kind:                        \
  case kAnd##Kind:                             \
  case kOr##Kind:                              \
  case kXor##Kind:                             \
    EmitIntegerArithmetic(op, effects, bytes); \
    return true;                               \
  case kMaximum##Kind:                         \
  case kMinimum##Kind:                         \
    EmitIntegerMinMax(op, effects, bytes);     \
    return true;                               \
  case kShiftLeft##Kind:                       \
  case kShiftRightLogical##Kind:               \
    EmitShift(op, effects, bytes);             \
    return true;
    HLO_ARITHMETIC_CASES(S32, 4)
    HLO_ARITHMETIC_CASES(U32, 4)
    HLO_ARITHMETIC_CASES(S64, 8)
    HLO_ARITHMETIC_CASES(U64, 8)
#undef HLO_ARITHMETIC_CASES
    case kAndPred:
    case kOrPred:
    case kXorPred:
      EmitIntegerArithmetic(op, effects, 1);
      return true;
    case kNotPred:
    case kNotS32:
    case kNotU32:
    case kNegateS32:
    case kAbsS32:
    case kSignS32:
      EmitIntegerUnary(op, effects);
      return true;
    case kShiftRightArithmeticS32:
      EmitShiftRightArithmetic(op, effects);
      return true;
    case kDivideS32:
    case kRemainderS32:
    case kDivideU32:
    case kRemainderU32:
      EmitDivision(op, effects, op.code == kDivideS32 || op.code == kRemainderS32);
      return true;
    default:
      return false;
  }
}

void ScalarEmitter::EmitIntegerArithmetic(const MicroOp& op, const Effects& effects, int32_t bytes) {
  const Register a = Use(effects.in[0], Bank::kGeneral);
  const std::optional<int32_t> immediate = Immediate(effects.in[1]);
  Source b{};
  if (!immediate.has_value()) b = UseSource(effects.in[1], Bank::kGeneral);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, Bank::kGeneral);
  const bool clobbers = !immediate.has_value() && !b.is_in_memory && b.reg == out && a != out;
  const Xbyak::Reg to = clobbers ? Temporary(bytes) : General(out, bytes);
  if (to.getIdx() != a.number) mov(to, General(a, bytes));
  const auto apply = [&](const auto& from) {
    switch (op.code) {
      case kAddS32:
      case kAddU32:
      case kAddS64:
      case kAddU64:
        return add(to, from);
      case kSubtractS32:
      case kSubtractU32:
      case kSubtractS64:
      case kSubtractU64:
        return sub(to, from);
      case kAndS32:
      case kAndU32:
      case kAndS64:
      case kAndU64:
      case kAndPred:
        return and_(to, from);
      case kOrS32:
      case kOrU32:
      case kOrS64:
      case kOrU64:
      case kOrPred:
        return or_(to, from);
      case kXorS32:
      case kXorU32:
      case kXorS64:
      case kXorU64:
      case kXorPred:
        return xor_(to, from);
      default:
        if constexpr (std::is_integral_v<std::decay_t<decltype(from)>>)
          return imul(to, to, from);
        else
          return imul(to, from);
    }
  };
  immediate.has_value() ? apply(*immediate) : With(b, bytes, apply);
  if (clobbers) mov(General(out, bytes), to);
}

void ScalarEmitter::EmitIntegerMinMax(const MicroOp& op, const Effects& effects, int32_t bytes) {
  const Register a = Use(effects.in[0], Bank::kGeneral);
  const Source b = UseSource(effects.in[1], Bank::kGeneral);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, Bank::kGeneral);
  const Xbyak::Reg to = Temporary(bytes);
  mov(to, General(a, bytes));
  With(b, bytes, [&](const auto& from) { cmp(to, from); });
  const bool is_signed =
      op.code == kMaximumS32 || op.code == kMinimumS32 || op.code == kMaximumS64 || op.code == kMinimumS64;
  const bool is_max =
      op.code == kMaximumS32 || op.code == kMaximumU32 || op.code == kMaximumS64 || op.code == kMaximumU64;
  const Condition replaces = is_max ? (is_signed ? Condition::kLess : Condition::kBelow)
                                    : (is_signed ? Condition::kGreater : Condition::kAbove);
  With(b, bytes, [&](const auto& from) { MoveIf(replaces, to, from); });
  mov(General(out, bytes), to);
}

void ScalarEmitter::EmitShift(const MicroOp& op, const Effects& effects, int32_t bytes) {
  const bool is_left = op.code == kShiftLeftS32 || op.code == kShiftLeftU32 || op.code == kShiftLeftS64 ||
                       op.code == kShiftLeftU64;
  const Register a = Use(effects.in[0], Bank::kGeneral);
  const std::optional<int64_t> constant = code_.ConstantAt(effects.in[1]);
  const uint64_t bits = 8 * static_cast<uint64_t>(bytes);
  if (constant.has_value()) {
    const uint64_t count = bytes == 4 ? static_cast<uint32_t>(*constant) : static_cast<uint64_t>(*constant);
    ReleaseDying(op, effects);
    const Register out = Define(effects.out, Bank::kGeneral);
    const Xbyak::Reg to = General(out, bytes);
    if (count >= bits) return xor_(Word(out), Word(out));
    if (out != a) mov(to, General(a, bytes));
    if (count == 0) return;
    is_left ? shl(to, static_cast<int>(count)) : shr(to, static_cast<int>(count));
    return;
  }
  const Register count = Use(effects.in[1], Bank::kGeneral);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, Bank::kGeneral);
  // The shift uses the low bits of the count.
  if (bytes == 4) {
    is_left ? shlx(eax, Word(a), Word(count)) : shrx(eax, Word(a), Word(count));
  } else {
    is_left ? shlx(rax, Long(a), Long(count)) : shrx(rax, Long(a), Long(count));
  }
  cmp(General(count, bytes), static_cast<uint32_t>(bits));
  // Sets all bits if the count is below.
  sbb(General(out, bytes), General(out, bytes));
  and_(General(out, bytes), Temporary(bytes));
}

void ScalarEmitter::EmitIntegerUnary(const MicroOp& op, const Effects& effects) {
  const Register a = Use(effects.in[0], Bank::kGeneral);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, Bank::kGeneral);
  if (op.code == kAbsS32 || op.code == kSignS32) {
    mov(eax, Word(a));
    neg(eax);
  }
  if (op.code == kAbsS32) {
    cmovs(eax, Word(a));
    return mov(Word(out), eax);
  }
  if (out != a) mov(Word(out), Word(a));
  switch (op.code) {
    case kNegateS32:
      return neg(Word(out));
    case kNotPred:
      return xor_(Word(out), 1);
    case kSignS32:
      sar(Word(out), 31);
      shr(eax, 31);
      return or_(Word(out), eax);
    default:
      return not_(Word(out));
  }
}

void ScalarEmitter::EmitShiftRightArithmetic(const MicroOp& op, const Effects& effects) {
  const Register a = Use(effects.in[0], Bank::kGeneral), count = Use(effects.in[1], Bank::kGeneral);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, Bank::kGeneral);
  mov(eax, 31);
  cmp(Word(count), eax);
  cmovb(eax, Word(count));
  sarx(Word(out), Word(a), eax);
}

void ScalarEmitter::EmitDivision(const MicroOp& op, const Effects& effects, bool is_signed) {
  const std::optional<int64_t> constant = is_signed ? code_.ConstantAt(effects.in[1]) : std::nullopt;
  const int64_t magnitude = std::abs(constant.value_or(0));
  if (magnitude > 1 && magnitude <= std::numeric_limits<int32_t>::max())
    return EmitDivisionByConstant(op, effects, static_cast<uint32_t>(magnitude), *constant < 0);
  const Register a = Use(effects.in[0], Bank::kGeneral), b = Use(effects.in[1], Bank::kGeneral);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, Bank::kGeneral);
  const bool is_remainder = op.code == kRemainderS32 || op.code == kRemainderU32;
  const Xbyak::Address divisor = dword[rsp];
  Xbyak::Label divides, end;
  vmovq(xmm15, rdx);
  mov(divisor, Word(b));
  mov(eax, Word(a));
  mov(edx, divisor);
  if (is_signed) {
    inc(edx);
    cmp(edx, 1);
    ja(divides);
    neg(edx);  // All ones if the divisor is 0; 0 if it is -1.
    if (is_remainder) {
      and_(eax, edx);
    } else {
      neg(eax);
      or_(eax, edx);
    }
  } else {
    test(edx, edx);
    jnz(divides);
    if (!is_remainder) mov(eax, -1);
  }
  jmp(end);
  L(divides);
  if (is_signed) {
    cdq();
    idiv(divisor);
  } else {
    xor_(edx, edx);
    div(divisor);
  }
  if (is_remainder) mov(eax, edx);
  L(end);
  vmovq(rdx, xmm15);
  mov(Word(out), eax);
}

void ScalarEmitter::EmitDivisionByConstant(const MicroOp& op, const Effects& effects, uint32_t divisor,
                                           bool negates) {
  const Register a = Use(effects.in[0], Bank::kGeneral);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, Bank::kGeneral);
  // For m = floor(2^p / d) + 1 with 2^p >= 2^31 d, floor(x m / 2^p) is floor(x / d) for x >= 0, and less by 1
  // than the truncated quotient for x < 0.
  const int power = 31 + std::bit_width(divisor - 1);
  const uint64_t factor = (uint64_t{1} << power) / divisor + 1;
  movsxd(Long(out), Word(a));
  mov(rax, factor);
  imul(rax, Long(out));
  sar(rax, power);
  bt(Long(out), 63);
  adc(eax, 0);
  if (op.code == kRemainderS32) {
    imul(eax, eax, static_cast<int32_t>(divisor));
    return sub(Word(out), eax);
  }
  if (negates) neg(eax);
  mov(Word(out), eax);
}

}  // namespace hlo::cpu
