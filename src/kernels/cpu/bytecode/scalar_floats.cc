// This file emits machine code for operations on scalar floats, and for conversions of scalars.

#include <type_traits>

#include "kernels/cpu/bytecode/opcodes.h"
#include "kernels/cpu/bytecode/scalar_emitter.h"

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

bool ScalarEmitter::EmitFloat(const MicroOp& op, const Effects& effects) {
  switch (op.code) {
#define HLO_FLOAT_CASES(Kind, bytes)                 \
  case kAdd##Kind:                                   \
  case kSubtract##Kind:                              \
  case kMultiply##Kind:                              \
  case kDivide##Kind:                                \
    EmitFloatArithmetic(op, effects, bytes == 8);    \
    return true;                                     \
  case kMaximum##Kind:                               \
    EmitFloatMinMax(op, effects, bytes == 8, true);  \
    return true;                                     \
  case kMinimum##Kind:                               \
    EmitFloatMinMax(op, effects, bytes == 8, false); \
    return true;                                     \
  case kNegate##Kind:                                \
  case kAbs##Kind:                                   \
  case kSqrt##Kind:                                  \
  case kFloor##Kind:                                 \
  case kCeil##Kind:                                  \
  case kRoundNearestEven##Kind:                      \
  case kSign##Kind:                                  \
    EmitFloatUnary(op, effects, bytes == 8);         \
    return true;
    HLO_FLOAT_CASES(F32, 4)
    HLO_FLOAT_CASES(F64, 8)
#undef HLO_FLOAT_CASES
#define HLO_ROW(name, operands) case k##name##BF16:
    HLO_ROUNDED_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(Kind, type) \
  case kWiden##Kind:        \
  case kRound##Kind:        \
  case kNarrow##Kind:
    HLO_HALVES(HLO_ROW)
#undef HLO_ROW
    EmitHalf(op, effects);
    return true;
    default:
      return false;
  }
}

void ScalarEmitter::EmitFloatArithmetic(const MicroOp& op, const Effects& effects, bool is_double) {
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

void ScalarEmitter::EmitFloatMinMax(const MicroOp& op, const Effects& effects, bool is_double, bool is_max) {
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

void ScalarEmitter::EmitFloatUnary(const MicroOp& op, const Effects& effects, bool is_double) {
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
      return EmitFloatSign(to, a, is_double);
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

void ScalarEmitter::EmitFloatSign(const Xbyak::Xmm& to, const Xbyak::Xmm& from, bool is_double) {
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

void ScalarEmitter::EmitHalf(const MicroOp& op, const Effects& effects) {
  const OperandKinds kinds = KindsOf(op.code);
  const Register a = Use(effects.in[0], *kinds.in[0].bank);
  const bool is_binary = kinds.in[1].bytes > 0;
  const Register b = is_binary ? Use(effects.in[1], Bank::kVector) : a;
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, *kinds.out.bank);
  switch (op.code) {
    case kWidenBF16:
      mov(eax, Word(a));
      shl(eax, 16);
      return vmovd(Vector(out), eax);
    case kNarrowBF16:
      vmovd(Word(out), Vector(a));
      return shr(Word(out), 16);
    case kWidenF16:
      return EmitWidenF16(Vector(out), Word(a));
    case kRoundF16:
      vcvtps2ph(xmm15, Vector(a), kNearestHalf);
      return vcvtph2ps(Vector(out), xmm15);
    case kNarrowF16:
      vcvtps2ph(xmm15, Vector(a), kNearestHalf);
      vmovd(Word(out), xmm15);
      return movzx(Word(out), Xbyak::Reg16(out.number));
    case kAddBF16:
      vaddss(xmm14, Vector(a), Vector(b));
      break;
    case kSubtractBF16:
      vsubss(xmm14, Vector(a), Vector(b));
      break;
    case kMultiplyBF16:
      vmulss(xmm14, Vector(a), Vector(b));
      break;
    case kDivideBF16:
      vdivss(xmm14, Vector(a), Vector(b));
      break;
    case kSqrtBF16:
      vsqrtss(xmm14, Vector(a), Vector(a));
      break;
    default:
      vmovaps(xmm14, Vector(a));
      break;
  }
  EmitRoundToBF16(Vector(out));
}

void ScalarEmitter::EmitWidenF16(const Xbyak::Xmm& to, const Xbyak::Reg32& from) {
  constexpr uint32_t kInfinity = 0x7f800000;
  Xbyak::Label end;
  vmovd(to, from);
  vcvtph2ps(to, to);
  vucomiss(to, to);
  jnp(end);
  // The instruction makes NaNs quiet.
  movsx(eax, Xbyak::Reg16(from.getIdx()));
  shl(eax, 13);
  or_(eax, kInfinity);
  vmovd(to, eax);
  L(end);
}

void ScalarEmitter::EmitRoundToBF16(const Xbyak::Xmm& to) {
  constexpr uint32_t kSign = 0x80000000, kNan = 0x7fc00000;
  Xbyak::Label end;
  // Half of the least bit that stays, less one if it is even.
  vpslld(to, xmm14, 15);
  vpsrld(to, to, 31);
  vpcmpeqd(xmm15, xmm15, xmm15);
  vpsrld(xmm15, xmm15, 17);
  vpaddd(to, to, xmm15);
  vpaddd(to, to, xmm14);
  vpsrld(to, to, 16);
  vpslld(to, to, 16);
  vucomiss(xmm14, xmm14);
  jnp(end);
  vmovd(eax, xmm14);
  and_(eax, kSign);
  or_(eax, kNan);
  vmovd(to, eax);
  L(end);
}

void ScalarEmitter::ConvertFloatToInteger(const Xbyak::Reg32& to, const Xbyak::Xmm& from) {
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

bool ScalarEmitter::EmitConversion(const MicroOp& op, const Effects& effects) {
  if (!IsConversion(op.code)) return false;
  Convert(op, effects);
  return true;
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
      return ConvertFloatToInteger(Word(out), Vector(a));
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

}  // namespace hlo::cpu
