#include "kernels/cpu/bytecode/scalar_emitter.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {
namespace {

bool IsConversion(uint16_t code) {
  switch (code) {
#define HLO_ROW(From, from, To, to) case kConvert##From##To:
    HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
    return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<Comparison> ComparisonOf(uint16_t code) {
  switch (code) {
#define HLO_ROW(name, Kind, type)                                                         \
  case k##name##Kind:                                                                     \
    return Comparison{Comparison::Direction::k##name, static_cast<int32_t>(sizeof(type)), \
                      std::is_floating_point_v<type>, std::is_signed_v<type>};
    HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
    default:
      return std::nullopt;
  }
}

bool ScalarEmitter::EmitScalar(const MicroOp& op, const Effects& effects) {
  switch (op.code) {
#define HLO_ARITHMETIC_CASES(Kind, bytes) \
  case kAdd##Kind:                        \
  case kSubtract##Kind:                   \
  case kMultiply##Kind:                   \
    Integer(op, effects, bytes);          \
    return true;                          \
  case kMaximum##Kind:                    \
  case kMinimum##Kind:                    \
    Limit(op, effects, bytes);            \
    return true;                          \
  case kAnd##Kind:                        \
  case kOr##Kind:                         \
  case kXor##Kind:                        \
    Integer(op, effects, bytes);          \
    return true;                          \
  case kShiftLeft##Kind:                  \
  case kShiftRightLogical##Kind:          \
    Shift(op, effects, bytes);            \
    return true;
    HLO_ARITHMETIC_CASES(S32, 4)
    HLO_ARITHMETIC_CASES(U32, 4)
    HLO_ARITHMETIC_CASES(S64, 8)
    HLO_ARITHMETIC_CASES(U64, 8)
#undef HLO_ARITHMETIC_CASES
    case kAndPred:
    case kOrPred:
    case kXorPred:
      Integer(op, effects, 1);
      return true;
    case kNotPred:
    case kNotS32:
    case kNotU32:
    case kNegateS32:
    case kAbsS32:
    case kSignS32:
      IntegerUnary(op, effects);
      return true;
    case kShiftRightArithmeticS32:
      ShiftRightArithmetic(op, effects);
      return true;
    case kDivideS32:
    case kRemainderS32:
    case kDivideU32:
    case kRemainderU32:
      Quotient(op, effects, op.code == kDivideS32 || op.code == kRemainderS32);
      return true;
#define HLO_FLOAT_CASES(Kind, bytes)            \
  case kAdd##Kind:                              \
  case kSubtract##Kind:                         \
  case kMultiply##Kind:                         \
  case kDivide##Kind:                           \
    Float(op, effects, bytes == 8);             \
    return true;                                \
  case kMaximum##Kind:                          \
    FloatLimit(op, effects, bytes == 8, true);  \
    return true;                                \
  case kMinimum##Kind:                          \
    FloatLimit(op, effects, bytes == 8, false); \
    return true;                                \
  case kNegate##Kind:                           \
  case kAbs##Kind:                              \
  case kSqrt##Kind:                             \
  case kFloor##Kind:                            \
  case kCeil##Kind:                             \
  case kRoundNearestEven##Kind:                 \
  case kSign##Kind:                             \
    FloatUnary(op, effects, bytes == 8);        \
    return true;
      HLO_FLOAT_CASES(F32, 4)
      HLO_FLOAT_CASES(F64, 8)
#undef HLO_FLOAT_CASES
    case kSelect1:
    case kSelect2:
    case kSelect4:
    case kSelect8:
      Select(op, effects, std::nullopt);
      return true;
    case kCopy1:
    case kCopy2:
    case kCopy4:
    case kCopy8:
      Copy(op, effects);
      return true;
    default:
      if (!IsConversion(op.code)) return false;
      Convert(op, effects);
      return true;
  }
}

void ScalarEmitter::JumpIf(Condition condition, const Xbyak::Label& to) {
  switch (condition) {
    case Condition::kEqual:
      return je(to, T_NEAR);
    case Condition::kNotEqual:
      return jne(to, T_NEAR);
    case Condition::kLess:
      return jl(to, T_NEAR);
    case Condition::kGreaterOrEqual:
      return jge(to, T_NEAR);
    case Condition::kLessOrEqual:
      return jle(to, T_NEAR);
    case Condition::kGreater:
      return jg(to, T_NEAR);
    case Condition::kBelow:
      return jb(to, T_NEAR);
    case Condition::kAboveOrEqual:
      return jae(to, T_NEAR);
    case Condition::kBelowOrEqual:
      return jbe(to, T_NEAR);
    case Condition::kAbove:
      return ja(to, T_NEAR);
  }
}

void ScalarEmitter::SetIf(Condition condition, const Xbyak::Reg8& to) {
  switch (condition) {
    case Condition::kEqual:
      return sete(to);
    case Condition::kNotEqual:
      return setne(to);
    case Condition::kLess:
      return setl(to);
    case Condition::kGreaterOrEqual:
      return setge(to);
    case Condition::kLessOrEqual:
      return setle(to);
    case Condition::kGreater:
      return setg(to);
    case Condition::kBelow:
      return setb(to);
    case Condition::kAboveOrEqual:
      return setae(to);
    case Condition::kBelowOrEqual:
      return setbe(to);
    case Condition::kAbove:
      return seta(to);
  }
}

void ScalarEmitter::MoveIf(Condition condition, const Xbyak::Reg& to, const Xbyak::Operand& from) {
  switch (condition) {
    case Condition::kEqual:
      return cmove(to, from);
    case Condition::kNotEqual:
      return cmovne(to, from);
    case Condition::kLess:
      return cmovl(to, from);
    case Condition::kGreaterOrEqual:
      return cmovge(to, from);
    case Condition::kLessOrEqual:
      return cmovle(to, from);
    case Condition::kGreater:
      return cmovg(to, from);
    case Condition::kBelow:
      return cmovb(to, from);
    case Condition::kAboveOrEqual:
      return cmovae(to, from);
    case Condition::kBelowOrEqual:
      return cmovbe(to, from);
    case Condition::kAbove:
      return cmova(to, from);
  }
}

ScalarEmitter::Source ScalarEmitter::UseSource(const FrameScalar& scalar, Bank bank) {
  if (scalar.bytes >= 4 && !IsCached(scalar)) {
    Flush({scalar.at, scalar.bytes});
    return {true, {}, scalar.at};
  }
  return {false, Use(scalar, bank), 0};
}

Xbyak::Reg ScalarEmitter::General(Register reg, int32_t bytes) const {
  if (bytes == 8) return Long(reg);
  return Word(reg);
}

Xbyak::Reg ScalarEmitter::Temporary(int32_t bytes) const {
  if (bytes == 8) return rax;
  return eax;
}

std::optional<int32_t> ScalarEmitter::Immediate(const FrameScalar& scalar) const {
  const std::optional<int64_t> value = code_.ConstantAt(scalar);
  return value.has_value() && *value == static_cast<int32_t>(*value)
             ? std::optional(static_cast<int32_t>(*value))
             : std::nullopt;
}

void ScalarEmitter::ReleaseDying(const MicroOp& op, const Effects& effects) {
  for (size_t k = 0; k < 3; ++k) {
    if (op.dies[k]) Release(effects.in[k]);
  }
}

Bank ScalarEmitter::PreferredBank(const FrameScalar& scalar) const {
  for (const auto& entry : entries()) {
    if (entry.is_pinned && entry.scalar == scalar) return entry.reg.bank;
  }
  return code_.BankOf(scalar);
}

void ScalarEmitter::Integer(const MicroOp& op, const Effects& effects, int32_t bytes) {
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

void ScalarEmitter::Limit(const MicroOp& op, const Effects& effects, int32_t bytes) {
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

void ScalarEmitter::Shift(const MicroOp& op, const Effects& effects, int32_t bytes) {
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

void ScalarEmitter::IntegerUnary(const MicroOp& op, const Effects& effects) {
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

void ScalarEmitter::ShiftRightArithmetic(const MicroOp& op, const Effects& effects) {
  const Register a = Use(effects.in[0], Bank::kGeneral), count = Use(effects.in[1], Bank::kGeneral);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, Bank::kGeneral);
  mov(eax, 31);
  cmp(Word(count), eax);
  cmovb(eax, Word(count));
  sarx(Word(out), Word(a), eax);
}

void ScalarEmitter::Quotient(const MicroOp& op, const Effects& effects, bool is_signed) {
  const std::optional<int64_t> constant = is_signed ? code_.ConstantAt(effects.in[1]) : std::nullopt;
  const int64_t magnitude = std::abs(constant.value_or(0));
  if (magnitude > 1 && magnitude <= std::numeric_limits<int32_t>::max())
    return QuotientByConstant(op, effects, static_cast<uint32_t>(magnitude), *constant < 0);
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

void ScalarEmitter::QuotientByConstant(const MicroOp& op, const Effects& effects, uint32_t divisor,
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

void ScalarEmitter::Float(const MicroOp& op, const Effects& effects, bool is_double) {
  const Register a = Use(effects.in[0], Bank::kVector);
  const Source b = UseSource(effects.in[1], Bank::kVector);
  ReleaseDying(op, effects);
  const Xbyak::Xmm to = Vector(Define(effects.out, Bank::kVector)), from = Vector(a);
  With(b, 0, [&](const auto& other) {
    if constexpr (!std::is_base_of_v<Xbyak::Reg, std::decay_t<decltype(other)>> ||
                  std::is_same_v<std::decay_t<decltype(other)>, Xbyak::Xmm>) {
      switch (op.code) {
        case kAddF32:
        case kAddF64:
          return is_double ? vaddsd(to, from, other) : vaddss(to, from, other);
        case kSubtractF32:
        case kSubtractF64:
          return is_double ? vsubsd(to, from, other) : vsubss(to, from, other);
        case kMultiplyF32:
        case kMultiplyF64:
          return is_double ? vmulsd(to, from, other) : vmulss(to, from, other);
        default:
          return is_double ? vdivsd(to, from, other) : vdivss(to, from, other);
      }
    }
  });
}

void ScalarEmitter::FloatLimit(const MicroOp& op, const Effects& effects, bool is_double, bool is_max) {
  const Xbyak::Xmm a = Vector(Use(effects.in[0], Bank::kVector));
  const Xbyak::Xmm b = Vector(Use(effects.in[1], Bank::kVector));
  ReleaseDying(op, effects);
  const Xbyak::Xmm to = Vector(Define(effects.out, Bank::kVector));
  // The instructions return the second operand for NaNs and for zeros of either sign.
  if (is_max) {
    is_double ? vmaxsd(xmm14, b, a) : vmaxss(xmm14, b, a);
    is_double ? vmaxsd(xmm15, a, b) : vmaxss(xmm15, a, b);
    vandps(xmm14, xmm14, xmm15);
  } else {
    is_double ? vminsd(xmm14, b, a) : vminss(xmm14, b, a);
    is_double ? vminsd(xmm15, a, b) : vminss(xmm15, a, b);
    vorps(xmm14, xmm14, xmm15);
  }
  constexpr uint8_t kUnordered = 3;
  const auto choose = [&](const Xbyak::Xmm& result, const Xbyak::Xmm& nan) {
    if (is_double) {
      vcmpsd(xmm15, nan, nan, kUnordered);
      vblendvpd(result, xmm14, nan, xmm15);
    } else {
      vcmpss(xmm15, nan, nan, kUnordered);
      vblendvps(result, xmm14, nan, xmm15);
    }
  };
  choose(xmm14, b);
  choose(to, a);
}

void ScalarEmitter::FloatUnary(const MicroOp& op, const Effects& effects, bool is_double) {
  const Xbyak::Xmm a = Vector(Use(effects.in[0], Bank::kVector));
  ReleaseDying(op, effects);
  const Xbyak::Xmm to = Vector(Define(effects.out, Bank::kVector));
  switch (op.code) {
    case kSqrtF32:
      return vsqrtss(to, a, a);
    case kSqrtF64:
      return vsqrtsd(to, a, a);
    case kFloorF32:
    case kCeilF32:
    case kRoundNearestEvenF32:
    case kFloorF64:
    case kCeilF64:
    case kRoundNearestEvenF64: {
      const uint8_t mode = op.code == kFloorF32 || op.code == kFloorF64 ? kDown
                           : op.code == kCeilF32 || op.code == kCeilF64 ? kUp
                                                                        : kNearest;
      return is_double ? vroundsd(to, a, a, mode) : vroundss(to, a, a, mode);
    }
    case kSignF32:
    case kSignF64:
      return FloatSign(to, a, is_double);
    default:
      break;
  }
  const bool negates = op.code == kNegateF32 || op.code == kNegateF64;
  // Shifts make the mask of the sign, or of the other bits.
  vpcmpeqd(xmm15, xmm15, xmm15);
  if (negates) {
    is_double ? vpsllq(xmm15, xmm15, 63) : vpslld(xmm15, xmm15, 31);
    vxorps(to, a, xmm15);
  } else {
    is_double ? vpsrlq(xmm15, xmm15, 1) : vpsrld(xmm15, xmm15, 1);
    vandps(to, a, xmm15);
  }
}

void ScalarEmitter::FloatSign(const Xbyak::Xmm& to, const Xbyak::Xmm& from, bool is_double) {
  constexpr uint8_t kUnequal = 0x0c;  // False for NaNs.
  // Shifts make a mask of the sign and a one.
  vpcmpeqd(xmm14, xmm14, xmm14);
  if (is_double) {
    vpsrlq(xmm15, xmm14, 54);
    vpsllq(xmm15, xmm15, 52);
    vpsllq(xmm14, xmm14, 63);
  } else {
    vpsrld(xmm15, xmm14, 25);
    vpslld(xmm15, xmm15, 23);
    vpslld(xmm14, xmm14, 31);
  }
  vandps(xmm14, xmm14, from);
  vorps(xmm14, xmm14, xmm15);
  vxorps(xmm15, xmm15, xmm15);
  is_double ? vcmpsd(xmm15, from, xmm15, kUnequal) : vcmpss(xmm15, from, xmm15, kUnequal);
  is_double ? vblendvpd(to, from, xmm14, xmm15) : vblendvps(to, from, xmm14, xmm15);
}

void ScalarEmitter::ConvertToInteger(const Xbyak::Reg32& to, const Xbyak::Xmm& from) {
  constexpr uint32_t kOutOfRange = 0x80000000;
  Xbyak::Label end;
  vcvttss2si(eax, from);
  cmp(eax, kOutOfRange);
  jne(end);
  // NaNs become 0, and positive numbers the largest integer.
  vxorps(xmm15, xmm15, xmm15);
  vucomiss(from, xmm15);
  mov(eax, 0);
  jp(end);
  mov(eax, kOutOfRange);
  jb(end);
  dec(eax);
  L(end);
  mov(to, eax);
}

void ScalarEmitter::Convert(const MicroOp& op, const Effects& effects) {
  const OperandKinds kinds = KindsOf(op.code);
  const Register a = Use(effects.in[0], *kinds.in[0].bank);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, *kinds.out.bank);
  const bool is_double = kinds.out.bytes == 8;
  switch (op.code) {
    case kConvertS32S64:
      return movsxd(Long(out), Word(a));
    case kConvertS64S32:
    case kConvertU32S32:
    case kConvertS32U32:
    case kConvertPredS32:
      return mov(Word(out), Word(a));
    case kConvertF32S32:
      return ConvertToInteger(Word(out), Vector(a));
    case kConvertF32F64:
      return vcvtss2sd(Vector(out), Vector(a), Vector(a));
    case kConvertF64F32:
      return vcvtsd2ss(Vector(out), Vector(a), Vector(a));
    default:
      break;
  }
  // The instruction keeps the upper bits of its second operand.
  vxorps(xmm15, xmm15, xmm15);
  if (op.code == kConvertU32F32) {
    mov(eax, Word(a));  // Clears the upper bits.
    return vcvtsi2ss(Vector(out), xmm15, rax);
  }
  const bool is_long = op.code == kConvertS64F32 || op.code == kConvertS64F64;
  if (is_long) {
    is_double ? vcvtsi2sd(Vector(out), xmm15, Long(a)) : vcvtsi2ss(Vector(out), xmm15, Long(a));
  } else {
    is_double ? vcvtsi2sd(Vector(out), xmm15, Word(a)) : vcvtsi2ss(Vector(out), xmm15, Word(a));
  }
}

Condition ScalarEmitter::CompareFlags(const MicroOp& op, const Effects& effects) {
  const Comparison comparison = *ComparisonOf(op.code);
  using Direction = Comparison::Direction;
  const Direction direction = comparison.direction;
  if (comparison.is_float) {
    const Xbyak::Xmm a = Vector(Use(effects.in[0], Bank::kVector));
    const Xbyak::Xmm b = Vector(Use(effects.in[1], Bank::kVector));
    ReleaseDying(op, effects);
    const bool is_double = comparison.bytes == 8;
    const auto compare = [&](const Xbyak::Xmm& x, const Xbyak::Xmm& y) {
      is_double ? vucomisd(x, y) : vucomiss(x, y);
    };
    switch (direction) {
      case Direction::kEq:
      case Direction::kNe:
        CompareToMask(comparison, xmm15, a, b);
        vmovd(eax, xmm15);
        test(eax, eax);
        return Condition::kNotEqual;
      case Direction::kGe:
        compare(a, b);
        return Condition::kAboveOrEqual;
      case Direction::kGt:
        compare(a, b);
        return Condition::kAbove;
      case Direction::kLe:
        compare(b, a);
        return Condition::kAboveOrEqual;
      case Direction::kLt:
        compare(b, a);
        return Condition::kAbove;
    }
  }
  const Register a = Use(effects.in[0], Bank::kGeneral);
  if (const auto immediate = Immediate(effects.in[1])) {
    cmp(General(a, comparison.bytes), static_cast<uint32_t>(*immediate));
  } else {
    const Source b = UseSource(effects.in[1], Bank::kGeneral);
    With(b, comparison.bytes, [&](const auto& from) { cmp(General(a, comparison.bytes), from); });
  }
  ReleaseDying(op, effects);
  switch (direction) {
    case Direction::kEq:
      return Condition::kEqual;
    case Direction::kNe:
      return Condition::kNotEqual;
    case Direction::kGe:
      return comparison.is_signed ? Condition::kGreaterOrEqual : Condition::kAboveOrEqual;
    case Direction::kGt:
      return comparison.is_signed ? Condition::kGreater : Condition::kAbove;
    case Direction::kLe:
      return comparison.is_signed ? Condition::kLessOrEqual : Condition::kBelowOrEqual;
    case Direction::kLt:
      return comparison.is_signed ? Condition::kLess : Condition::kBelow;
  }
  return Condition::kEqual;
}

void ScalarEmitter::CompareToMask(const Comparison& comparison, const Xbyak::Xmm& to, const Xbyak::Xmm& a,
                                  const Xbyak::Xmm& b) {
  constexpr std::array<uint8_t, 6> kPredicates = {0, 4, 0x1d, 0x1e, 0x12, 0x11};  // By direction.
  const uint8_t predicate = kPredicates[static_cast<size_t>(comparison.direction)];
  comparison.bytes == 8 ? vcmpsd(to, a, b, predicate) : vcmpss(to, a, b, predicate);
}

void ScalarEmitter::Select(const MicroOp& op, const Effects& effects,
                           const std::optional<std::pair<MicroOp, Effects>>& comparison) {
  const int32_t bytes = effects.out.bytes;
  Bank bank = PreferredBank(effects.out);
  if (bank == Bank::kGeneral) {
    // The operands are in registers before the flags are set.
    const Register b = Use(effects.in[1], bank);
    const Register c = Use(effects.in[2], bank);
    Condition condition = Condition::kNotEqual;
    if (comparison.has_value()) {
      condition = CompareFlags(comparison->first, comparison->second);
    } else {
      const Register flag = Use(effects.in[0], Bank::kGeneral);
      test(Word(flag), Word(flag));
    }
    ReleaseDying(op, effects);
    const Register out = Define(effects.out, bank);
    const int32_t width = bytes == 8 ? 8 : 4;
    mov(Temporary(width), General(b, width));
    MoveIf(Negated(condition), Temporary(width), General(c, width));
    mov(General(out, width), Temporary(width));
    return;
  }
  const auto compared = comparison.has_value() ? ComparisonOf(comparison->first.code) : std::nullopt;
  if (compared.has_value() && compared->is_float && compared->bytes == bytes) {
    const Xbyak::Xmm x = Vector(Use(comparison->second.in[0], Bank::kVector));
    const Xbyak::Xmm y = Vector(Use(comparison->second.in[1], Bank::kVector));
    CompareToMask(*compared, xmm15, x, y);
    ReleaseDying(comparison->first, comparison->second);
    EndOperation();
  } else {
    if (comparison.has_value()) {
      const Condition condition = CompareFlags(comparison->first, comparison->second);
      SetIf(condition, al);
      movzx(eax, al);
      EndOperation();
    } else {
      mov(eax, Word(Use(effects.in[0], Bank::kGeneral)));
    }
    neg(rax);
    vmovq(xmm15, rax);
  }
  const Xbyak::Xmm b = Vector(Use(effects.in[1], bank));
  const Xbyak::Xmm c = Vector(Use(effects.in[2], bank));
  ReleaseDying(op, effects);
  const Xbyak::Xmm to = Vector(Define(effects.out, bank));
  bytes == 8 ? vblendvpd(to, c, b, xmm15) : vblendvps(to, c, b, xmm15);
}

void ScalarEmitter::Copy(const MicroOp& op, const Effects& effects) {
  const FrameScalar& from = effects.in[0];
  const Bank bank = IsCached(from) ? BankOfCached(from) : PreferredBank(effects.out);
  const Register reg = Use(from, bank);
  ReleaseDying(op, effects);
  DefineCopy(effects.out, reg);
}

}  // namespace hlo::cpu
