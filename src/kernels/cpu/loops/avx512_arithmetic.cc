// This file emits arithmetic, comparisons and selects of native loops with AVX-512. Results have the same
// bits as those of tile_ops.h.

#include <bit>
#include <utility>

#include "kernels/cpu/loops/avx512_emitter.h"
#include "kernels/cpu/loops/native_instructions.h"

namespace hlo::cpu {
namespace {

using native::ColumnOf;
using native::FloatPredicate;
using native::IsFloatComputeType;
using native::IsSignedComputeType;
using native::kMaximum;
using native::kMinimum;
using native::Simple;

constexpr native::Instructions kAvx512Instructions[] = {
    {Opcode::kMultiply,
     {nullptr, HLO_THREE(vpmullw), HLO_THREE(vpmulld), HLO_THREE(vpmullq), HLO_THREE(vmulps),
      HLO_THREE(vmulpd)}},
    {Opcode::kAnd, {HLO_THREE(vpandd), HLO_THREE(vpandd), HLO_THREE(vpandd), HLO_THREE(vpandd)}},
    {Opcode::kOr, {HLO_THREE(vpord), HLO_THREE(vpord), HLO_THREE(vpord), HLO_THREE(vpord)}},
    {Opcode::kXor, {HLO_THREE(vpxord), HLO_THREE(vpxord), HLO_THREE(vpxord), HLO_THREE(vpxord)}},
    // Counts beyond the width shift out all bits, as HLO defines.
    {Opcode::kShiftLeft, {nullptr, HLO_THREE(vpsllvw), HLO_THREE(vpsllvd), HLO_THREE(vpsllvq)}},
    {Opcode::kShiftRightLogical, {nullptr, HLO_THREE(vpsrlvw), HLO_THREE(vpsrlvd), HLO_THREE(vpsrlvq)}},
    {Opcode::kShiftRightArithmetic, {nullptr, HLO_THREE(vpsravw), HLO_THREE(vpsravd), HLO_THREE(vpsravq)}},
    {Opcode::kCountLeadingZeros, {nullptr, nullptr, HLO_TWO(vplzcntd), HLO_TWO(vplzcntq)}},
};
constexpr Simple kAvx512Abs[4] = {HLO_TWO(vpabsb), HLO_TWO(vpabsw), HLO_TWO(vpabsd), HLO_TWO(vpabsq)};

// The comparison predicates of integers.
int IntegerPredicate(ComparisonDirection direction) {
  constexpr int kPredicates[] = {0, 4, 5, 6, 2, 1};
  return kPredicates[static_cast<int>(direction)];
}
}  // namespace

Simple Avx512Emitter::InstructionOf(Opcode opcode, ComputeType compute_type) const {
  const int column = ColumnOf(compute_type);
  if (!IsFloatComputeType(compute_type)) {
    if (opcode == Opcode::kMaximum) return native::kMaximum[IsSignedComputeType(compute_type)][column];
    if (opcode == Opcode::kMinimum) return native::kMinimum[IsSignedComputeType(compute_type)][column];
    if (opcode == Opcode::kAbs && IsSignedComputeType(compute_type)) return kAvx512Abs[column];
  }
  return native::FindInstruction(kAvx512Instructions, opcode, compute_type);
}

// Emits operations on predicates.
void Avx512Emitter::EmitMask(const Op& op) {
  using enum native::MaskOperation::Kind;
  const native::MaskOperation operation = native::MaskOperationOf(*op.operation);
  Opmask a = UseMask(op.in[0]), b = op.operand_count > 1 ? UseMask(op.in[1]) : a;
  const Opmask out = DefineMask(op.out);
  if (operation.swaps) std::swap(a, b);
  switch (operation.kind) {
    case kAnd:
      kandq(out, a, b);
      break;
    case kAndNot:
      kandnq(out, a, b);
      break;
    case kOr:
      korq(out, a, b);
      break;
    case kXor:
      return operation.inverts ? kxnorq(out, a, b) : kxorq(out, a, b);
    case kNot:
      return knotq(out, a);
  }
  if (operation.inverts) knotq(out, out);
}

// Compares floats as integers, in a total order: flips the bits of negative numbers except the sign.
void Avx512Emitter::CompareTotally(const Op& op) {
  const int width = nodes_[op.in[0]].width, predicate = IntegerPredicate(op.operation->direction);
  const Xmm keys[] = {Temporary(0, width), Temporary(1, width)};
  const Xmm from[] = {Use(op.in[0]), Use(op.in[1])};
  for (int k = 0; k < 2; ++k) {
    if (width == 4) {
      vpsrad(keys[k], from[k], 31);
      vpsrld(keys[k], keys[k], 1);
    } else {
      vpsraq(keys[k], from[k], 63);
      vpsrlq(keys[k], keys[k], 1);
    }
    vpxord(keys[k], keys[k], from[k]);
  }
  const Opmask out = DefineMask(op.out);
  width == 4 ? vpcmpd(out, keys[0], keys[1], predicate) : vpcmpq(out, keys[0], keys[1], predicate);
}

void Avx512Emitter::EmitCompare(const Op& op) {
  const ComputeType compute_type = nodes_[op.in[0]].compute_type;
  if (IsFloatComputeType(compute_type) && op.operation->total_order) return CompareTotally(op);
  const Xmm a = Use(op.in[0]);
  const int predicate = IntegerPredicate(op.operation->direction);
  const Operand& b = Any(op.in[1]);
  const Opmask out = DefineMask(op.out);
  switch (compute_type) {
    case ComputeType::kF32:
      return vcmpps(out, a, b, FloatPredicate(op.operation->direction));
    case ComputeType::kF64:
      return vcmppd(out, a, b, FloatPredicate(op.operation->direction));
    case ComputeType::kS8:
      return vpcmpb(out, a, b, predicate);
    case ComputeType::kS16:
      return vpcmpw(out, a, b, predicate);
    case ComputeType::kS32:
      return vpcmpd(out, a, b, predicate);
    case ComputeType::kS64:
      return vpcmpq(out, a, b, predicate);
    case ComputeType::kU8:
      return vpcmpub(out, a, b, predicate);
    case ComputeType::kU16:
      return vpcmpuw(out, a, b, predicate);
    case ComputeType::kU32:
      return vpcmpud(out, a, b, predicate);
    default:
      return vpcmpuq(out, a, b, predicate);
  }
}

void Avx512Emitter::EmitSelect(const Op& op) {
  const Opmask mask = UseMask(op.in[0]);
  if (compute_type(op.out) == ComputeType::kPred) {
    const Opmask a = UseMask(op.in[1]), b = UseMask(op.in[2]);
    const Opmask out = DefineMask(op.out);
    kandnq(k1, mask, b);
    kandq(out, mask, a);
    return korq(out, out, k1);
  }
  const Xmm b = Use(op.in[2]);
  const Operand& a = Any(op.in[1]);
  const Xmm out = Define(op.out) | mask;
  switch (nodes_[op.out].width) {
    case 1:
      return vpblendmb(out, b, a);
    case 2:
      return vpblendmw(out, b, a);
    case 4:
      return vpblendmd(out, b, a);
    default:
      return vpblendmq(out, b, a);
  }
}

// Divides integers of up to 32 bits as floats of twice the width. The quotient of two integers that is no
// integer is further from one than the rounding error. Conversions of quotients beyond the range give the
// minimum, or all ones if unsigned, as does division by zero.
void Avx512Emitter::EmitDivide(const Op& op) {
  const bool is_signed = IsSignedComputeType(compute_type(op.out));
  const bool is_remainder = op.operation->opcode == Opcode::kRemainder;
  const Xmm a = Use(op.in[0]), b = Use(op.in[1]);
  const Xmm out = Define(op.out);
  if (const int width = node(op.out).width; width < 4)
    return DivideNarrow(out, a, b, width, is_signed, is_remainder);
  DivideWords(out, a, b, is_signed);
  if (is_signed) {
    vptestnmd(k1, b, b);
    vpternlogd(out | k1, out, out, 0xff);
  }
  if (!is_remainder) return;
  vpmulld(out, out, b);
  vpsubd(out, a, out);
}

// Divides integers of 8 or 16 bits as f32.
void Avx512Emitter::DivideNarrow(const Xmm& out, const Xmm& a, const Xmm& b, int width, bool is_signed,
                                 bool is_remainder) {
  const Xmm dividend = Temporary(0, 4), divisor = Temporary(1, 4);
  Resize(dividend, 4, a, width, is_signed);
  Resize(divisor, 4, b, width, is_signed);
  vptestnmd(k1, divisor, divisor);
  vcvtdq2ps(dividend, dividend);
  vcvtdq2ps(divisor, divisor);
  const Xmm& quotient = dividend;
  vdivps(quotient, dividend, divisor);
  vcvttps2dq(quotient, quotient);
  vpternlogd(quotient | k1, quotient, quotient, 0xff);
  if (is_remainder) {
    Resize(divisor, 4, b, width, is_signed);
    vpmulld(quotient, quotient, divisor);
    Resize(divisor, 4, a, width, is_signed);
    vpsubd(quotient, divisor, quotient);
  }
  Resize(out, width, quotient, 4, is_signed);
}

// Divides integers of 32 bits as f64, in two halves if one does not fit a register.
void Avx512Emitter::DivideWords(const Xmm& out, const Xmm& a, const Xmm& b, bool is_signed) {
  const auto widen = [&](const Xmm& to, const Xmm& from) {
    is_signed ? vcvtdq2pd(to, from) : vcvtudq2pd(to, from);
  };
  const auto narrow = [&](const Xmm& to, const Xmm& from) {
    is_signed ? vcvttpd2dq(to, from) : vcvttpd2udq(to, from);
  };
  if (lanes_ * 8 <= native::kRegisterBytes) {
    const Xmm x = Temporary(0, 8), y = Temporary(1, 8);
    widen(x, a);
    widen(y, b);
    vdivpd(x, x, y);
    return narrow(out, x);
  }
  using Xbyak::Ymm;
  using Xbyak::Zmm;
  const Zmm x(Temporary(0, 4).getIdx()), y(Temporary(1, 4).getIdx());
  const Ymm part(Temporary(2, 4).getIdx());
  widen(x, Ymm(a.getIdx()));
  widen(y, Ymm(b.getIdx()));
  vdivpd(x, x, y);
  narrow(Ymm(out.getIdx()), x);
  vextracti64x4(part, Zmm(a.getIdx()), 1);
  widen(x, part);
  vextracti64x4(part, Zmm(b.getIdx()), 1);
  widen(y, part);
  vdivpd(x, x, y);
  narrow(part, x);
  vinserti64x4(Zmm(out.getIdx()), Zmm(out.getIdx()), part, 1);
}

// `out` differs from the operands.
void Avx512Emitter::Extreme(const Xmm& out, const Xmm& a, const Xmm& b, bool is_maximum,
                            ComputeType compute_type) {
  if (!IsFloatComputeType(compute_type))
    return (is_maximum ? kMaximum
                       : kMinimum)[IsSignedComputeType(compute_type)][native::ColumnOf(compute_type)](
        *this, out, a, b);
  // The instructions return their second operand for equal numbers and for NaNs.
  if (compute_type == ComputeType::kF32) {
    vcmpps(k1, a, b, native::kEqual);
    vcmpps(k2, a, a, native::kUnordered);
    is_maximum ? vmaxps(out, a, b) : vminps(out, a, b);
    is_maximum ? vandps(out | k1, a, b) : vorps(out | k1, a, b);
    vmovdqa32(out | k2, a);
  } else {
    vcmppd(k1, a, b, native::kEqual);
    vcmppd(k2, a, a, native::kUnordered);
    is_maximum ? vmaxpd(out, a, b) : vminpd(out, a, b);
    is_maximum ? vandpd(out | k1, a, b) : vorpd(out | k1, a, b);
    vmovdqa64(out | k2, a);
  }
}

// Emits abs, sign, negate and not. Instructions compute abs of signed integers.
void Avx512Emitter::EmitSigns(const Op& op) {
  const ComputeType compute_type = nodes_[op.out].compute_type;
  const Opcode opcode = op.operation->opcode;
  if (!IsFloatComputeType(compute_type)) return EmitSignsOfIntegers(op);
  const int width = nodes_[op.out].width;
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm zero = Temporary(0, width);
  const bool wide = width == 8;
  const uint64_t sign = wide ? uint64_t{1} << 63 : uint64_t{1} << 31;
  const Address sign_bit = Constant(width, sign);
  if (opcode == Opcode::kNegate) return wide ? vpxorq(out, a, sign_bit) : vpxord(out, a, sign_bit);
  if (opcode == Opcode::kAbs) {
    const Address rest = Constant(width, sign - 1);
    return wide ? vpandq(out, a, rest) : vpandd(out, a, rest);
  }
  vpxord(zero, zero, zero);
  vmovdqa32(out, a);
  if (wide) {
    vcmppd(k1, a, zero, native::kNotEqual);
    vpandq(out | k1, a, sign_bit);
    vporq(out | k1, out, Constant(1.0));
  } else {
    vcmpps(k1, a, zero, native::kNotEqual);
    vpandd(out | k1, a, sign_bit);
    vpord(out | k1, out, Constant(1.0f));
  }
}

void Avx512Emitter::EmitSignsOfIntegers(const Op& op) {
  const int column = ColumnOf(compute_type(op.out));
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm zero = Temporary(0, nodes_[op.out].width), one = Temporary(1, nodes_[op.out].width);
  switch (op.operation->opcode) {
    case Opcode::kNot:
      return vpternlogd(out, a, a, 0x55);
    case Opcode::kNegate:
      vpxord(zero, zero, zero);
      return InstructionOf(Opcode::kSubtract, compute_type(op.out))(*this, out, zero, a);
    case Opcode::kAbs:
      return vmovdqa32(out, a);
    default:
      break;
  }
  vpternlogd(one, one, one, 0xff);
  kMaximum[1][column](*this, out, a, one);
  kAvx512Abs[column](*this, one, one, one);
  kMinimum[1][column](*this, out, out, one);
}

// Emits roundings to integers.
void Avx512Emitter::EmitIntegral(const Op& op) {
  const Opcode opcode = op.operation->opcode;
  const bool wide = compute_type(op.out) == ComputeType::kF64;
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (opcode != Opcode::kRoundNearestAfz) {
    const uint8_t mode = native::RoundingModeOf(opcode);
    return wide ? vrndscalepd(out, a, mode) : vrndscaleps(out, a, mode);
  }
  // Truncates the sum with the largest number below one half, of the same sign.
  if (wide) {
    vpandq(out, a, Constant(8, uint64_t{1} << 63));
    vporq(out, out, Constant(8, std::bit_cast<uint64_t>(0x1.fffffffffffffp-2)));
    vaddpd(out, a, out);
    vrndscalepd(out, out, native::kTowardZero);
  } else {
    vpandd(out, a, Constant(4, 0x80000000u));
    vpord(out, out, Constant(0x1.fffffep-2f));
    vaddps(out, a, out);
    vrndscaleps(out, out, native::kTowardZero);
  }
}

void Avx512Emitter::EmitIsFinite(const Op& op) {
  constexpr int kInfiniteOrNaN = 0x99;
  const Xmm a = Use(op.in[0]);
  const Opmask out = DefineMask(op.out);
  compute_type(op.in[0]) == ComputeType::kF64 ? vfpclasspd(out, a, kInfiniteOrNaN)
                                              : vfpclassps(out, a, kInfiniteOrNaN);
  knotq(out, out);
}

}  // namespace hlo::cpu
