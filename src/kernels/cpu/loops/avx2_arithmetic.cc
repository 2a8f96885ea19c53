// This file emits arithmetic, comparisons and selects of native loops with AVX2. Results have the same bits
// as those of tile_ops.h.

#include <bit>
#include <utility>

#include "kernels/cpu/loops/avx2_emitter.h"
#include "kernels/cpu/loops/native_instructions.h"

namespace hlo::cpu {
namespace {

using native::ColumnOf;
using native::FloatPredicate;
using native::IsFloatComputeType;
using native::IsSignedComputeType;
using native::Simple;
using Xbyak::Ymm;

constexpr native::Instructions kAvx2Instructions[] = {
    {Opcode::kMultiply,
     {nullptr, HLO_THREE(vpmullw), HLO_THREE(vpmulld), nullptr, HLO_THREE(vmulps), HLO_THREE(vmulpd)}},
    {Opcode::kAnd, {HLO_THREE(vpand), HLO_THREE(vpand), HLO_THREE(vpand), HLO_THREE(vpand)}},
    {Opcode::kOr, {HLO_THREE(vpor), HLO_THREE(vpor), HLO_THREE(vpor), HLO_THREE(vpor)}},
    {Opcode::kXor, {HLO_THREE(vpxor), HLO_THREE(vpxor), HLO_THREE(vpxor), HLO_THREE(vpxor)}},
    // Counts beyond the width shift out all bits, as HLO defines.
    {Opcode::kShiftLeft, {nullptr, nullptr, HLO_THREE(vpsllvd), HLO_THREE(vpsllvq)}},
    {Opcode::kShiftRightLogical, {nullptr, nullptr, HLO_THREE(vpsrlvd), HLO_THREE(vpsrlvq)}},
    {Opcode::kShiftRightArithmetic, {nullptr, nullptr, HLO_THREE(vpsravd)}},
};
constexpr Simple kAvx2Abs[4] = {HLO_TWO(vpabsb), HLO_TWO(vpabsw), HLO_TWO(vpabsd)};
constexpr Simple kSign[4] = {HLO_THREE(vpsignb), HLO_THREE(vpsignw), HLO_THREE(vpsignd)};
constexpr Simple kEqual[4] = {HLO_THREE(vpcmpeqb), HLO_THREE(vpcmpeqw), HLO_THREE(vpcmpeqd),
                              HLO_THREE(vpcmpeqq)};
constexpr Simple kGreater[4] = {HLO_THREE(vpcmpgtb), HLO_THREE(vpcmpgtw), HLO_THREE(vpcmpgtd),
                                HLO_THREE(vpcmpgtq)};

int ColumnOfWidth(int width) { return std::countr_zero(static_cast<uint32_t>(width)); }

}  // namespace

Simple Avx2Emitter::InstructionOf(Opcode opcode, ComputeType compute_type) const {
  const int column = ColumnOf(compute_type);
  if (!IsFloatComputeType(compute_type) && column < 3) {
    if (opcode == Opcode::kMaximum) return native::kMaximum[IsSignedComputeType(compute_type)][column];
    if (opcode == Opcode::kMinimum) return native::kMinimum[IsSignedComputeType(compute_type)][column];
    if (opcode == Opcode::kAbs && IsSignedComputeType(compute_type)) return kAvx2Abs[column];
  }
  return native::FindInstruction(kAvx2Instructions, opcode, compute_type);
}

// Emits operations on predicates.
void Avx2Emitter::EmitMask(const Op& op) {
  using enum native::MaskOperation::Kind;
  const native::MaskOperation operation = native::MaskOperationOf(*op.operation);
  Xmm a = Use(op.in[0]), b = op.operand_count > 1 ? Use(op.in[1]) : a;
  const Xmm out = Define(op.out);
  if (operation.swaps) std::swap(a, b);
  switch (operation.kind) {
    case kAnd:
      vandps(out, a, b);
      break;
    case kAndNot:
      vandnps(out, a, b);
      break;
    case kOr:
      vorps(out, a, b);
      break;
    case kXor:
      vxorps(out, a, b);
      break;
    case kNot:
      vxorps(out, a, Constant(4, ~0u));
      break;
  }
  if (operation.inverts) Not(out);
}

void Avx2Emitter::Compare(const Xmm& mask, Xmm a, Xmm b, int width, bool is_signed,
                          ComparisonDirection direction) {
  using enum ComparisonDirection;
  const int column = ColumnOfWidth(width);
  if (direction == kEq || direction == kNe) {
    kEqual[column](*this, mask, a, b);
    if (direction == kNe) Not(mask);
    return;
  }
  if (!is_signed) {
    // Flips the highest bits, to compare as signed integers.
    const Xmm keys[] = {Temporary(0, width), Temporary(1, width)};
    constexpr uint32_t kHighest[] = {0x80808080u, 0x80008000u, 0x80000000u};
    const Address highest = width == 8 ? Constant(8, uint64_t{1} << 63) : Constant(4, kHighest[column]);
    vxorps(keys[0], a, highest);
    vxorps(keys[1], b, highest);
    a = keys[0], b = keys[1];
  }
  const bool is_greater = direction == kGt || direction == kLe;
  kGreater[column](*this, mask, is_greater ? a : b, is_greater ? b : a);
  if (direction == kLe || direction == kGe) Not(mask);
}

// Compares floats as integers, in a total order: flips the bits of negative numbers except the sign.
void Avx2Emitter::CompareTotally(const Xmm& mask, const Xmm& a, const Xmm& b, int width,
                                 ComparisonDirection direction) {
  const Xmm keys[] = {Temporary(0, width), Temporary(1, width)}, zero = Temporary(2, width);
  const Xmm from[] = {a, b};
  for (int k = 0; k < 2; ++k) {
    if (width == 4) {
      vpsrad(keys[k], from[k], 31);
      vpsrld(keys[k], keys[k], 1);
    } else {
      vpxor(zero, zero, zero);
      vpcmpgtq(keys[k], zero, from[k]);
      vpsrlq(keys[k], keys[k], 1);
    }
    vpxor(keys[k], keys[k], from[k]);
  }
  Compare(mask, keys[0], keys[1], width, true, direction);
}

void Avx2Emitter::EmitCompare(const Op& op) {
  const ComputeType compute_type = nodes_[op.in[0]].compute_type;
  const ComparisonDirection direction = op.operation->direction;
  const int width = nodes_[op.in[0]].width;
  const bool is_float = IsFloatComputeType(compute_type);
  const Xmm a = Use(op.in[0]);
  if (is_float && !op.operation->total_order) {
    const Operand& b = Any(op.in[1]);
    const Xmm mask = Register(Define(op.out).getIdx(), width);
    width == 4 ? vcmpps(mask, a, b, FloatPredicate(direction))
               : vcmppd(mask, a, b, FloatPredicate(direction));
    return WidenPredicate(mask, width);
  }
  const Xmm b = Use(op.in[1]);
  const Xmm mask = Register(Define(op.out).getIdx(), width);
  if (is_float)
    CompareTotally(mask, a, b, width, direction);
  else
    Compare(mask, a, b, width, IsSignedComputeType(compute_type), direction);
  WidenPredicate(mask, width);
}

void Avx2Emitter::EmitSelect(const Op& op) {
  const int width = nodes_[op.out].width;
  const Xmm mask = PredicateOf(op.in[0], width);
  const Xmm b = Use(op.in[2]);
  const Operand& a = Any(op.in[1]);
  const Xmm out = Define(op.out);
  if (width == 4) return vblendvps(out, b, a, mask);
  width == 8 ? vblendvpd(out, b, a, mask) : vpblendvb(out, b, a, mask);
}

// Multiplies integers of 64 bits: the upper halves of the operands contribute only to the upper half.
void Avx2Emitter::EmitMultiply(const Op& op) {
  const Xmm a = Use(op.in[0]), b = Use(op.in[1]);
  const Xmm out = Define(op.out);
  const Xmm upper = Temporary(0, 8), other = Temporary(1, 8);
  vpsrlq(upper, a, 32);
  vpmuludq(upper, upper, b);
  vpsrlq(other, b, 32);
  vpmuludq(other, other, a);
  vpaddq(upper, upper, other);
  vpsllq(upper, upper, 32);
  vpmuludq(out, a, b);
  vpaddq(out, out, upper);
}

// AVX2 has no arithmetic shift of 64 bits. Logical shifts of the complement of negative numbers replace it.
void Avx2Emitter::EmitShift(const Op& op) {
  const Xmm a = Use(op.in[0]), b = Use(op.in[1]);
  const Xmm out = Define(op.out);
  const Xmm sign = Temporary(0, 8);
  vpxor(sign, sign, sign);
  vpcmpgtq(sign, sign, a);
  vpxor(out, a, sign);
  vpsrlvq(out, out, b);
  vpxor(out, out, sign);
}

// `out` differs from the operands.
void Avx2Emitter::Extreme(const Xmm& out, const Xmm& a, const Xmm& b, bool is_maximum,
                          ComputeType compute_type) {
  const Xmm mask = Temporary(1, static_cast<int>(ComputeTypeBytes(compute_type)));
  if (ComputeTypeBytes(compute_type) == 8 && !IsFloatComputeType(compute_type)) {
    Compare(mask, a, b, 8, compute_type == ComputeType::kS64, ComparisonDirection::kGt);
    return is_maximum ? vblendvpd(out, b, a, mask) : vblendvpd(out, a, b, mask);
  }
  if (!IsFloatComputeType(compute_type))
    return InstructionOf(is_maximum ? Opcode::kMaximum : Opcode::kMinimum, compute_type)(*this, out, a, b);
  // The instructions return their second operand for equal numbers, which may be zeros of different signs,
  // and for NaNs.
  const bool wide = compute_type == ComputeType::kF64;
  const int compare = is_maximum ? native::kNotEqualOrUnordered : native::kEqual;
  wide ? vcmppd(mask, a, b, compare) : vcmpps(mask, a, b, compare);
  if (is_maximum) {
    wide ? vmaxpd(out, a, b) : vmaxps(out, a, b);
    vorps(mask, mask, a);
    vandps(out, out, mask);
  } else {
    wide ? vminpd(out, a, b) : vminps(out, a, b);
    vandps(mask, mask, a);
    vorps(out, out, mask);
  }
  wide ? vcmppd(mask, a, a, native::kUnordered) : vcmpps(mask, a, a, native::kUnordered);
  wide ? vblendvpd(out, out, a, mask) : vblendvps(out, out, a, mask);
}

// Divides integers of up to 32 bits as floats of twice the width. The quotient of two integers that is no
// integer is further from one than the rounding error. Conversions of quotients beyond the range give the
// minimum; division by zero gives all ones.
void Avx2Emitter::EmitDivide(const Op& op) {
  const bool is_signed = IsSignedComputeType(compute_type(op.out));
  const bool is_remainder = op.operation->opcode == Opcode::kRemainder;
  const Xmm a = Use(op.in[0]), b = Use(op.in[1]);
  const Xmm out = Define(op.out);
  if (const int width = node(op.out).width; width < 4)
    return DivideNarrow(out, a, b, width, is_signed, is_remainder);
  DivideWords(out, a, b, is_signed);
  const Xmm is_zero = Temporary(0, 4);
  vpxor(is_zero, is_zero, is_zero);
  vpcmpeqd(is_zero, is_zero, b);
  vorps(out, out, is_zero);
  if (!is_remainder) return;
  vpmulld(out, out, b);
  vpsubd(out, a, out);
}

// Divides integers of 8 or 16 bits as f32.
void Avx2Emitter::DivideNarrow(const Xmm& out, const Xmm& a, const Xmm& b, int width, bool is_signed,
                               bool is_remainder) {
  const Xmm quotient = Temporary(0, 4), divisor = Temporary(1, 4), is_zero = Temporary(2, 4);
  Resize(quotient, 4, a, width, is_signed);
  Resize(divisor, 4, b, width, is_signed);
  vpxor(is_zero, is_zero, is_zero);
  vpcmpeqd(is_zero, is_zero, divisor);
  vcvtdq2ps(quotient, quotient);
  vcvtdq2ps(divisor, divisor);
  vdivps(quotient, quotient, divisor);
  vcvttps2dq(quotient, quotient);
  vorps(quotient, quotient, is_zero);
  if (is_remainder) {
    Resize(divisor, 4, b, width, is_signed);
    vpmulld(quotient, quotient, divisor);
    Resize(divisor, 4, a, width, is_signed);
    vpsubd(quotient, divisor, quotient);
  }
  Resize(out, width, quotient, 4, is_signed);
}

// Divides integers of 32 bits as f64, in two halves if one does not fit a register. Unsigned ones are
// converted as signed integers that are smaller by 2^31.
void Avx2Emitter::DivideWords(const Xmm& out, const Xmm& a, const Xmm& b, bool is_signed) {
  const Ymm x(Temporary(0, 4).getIdx()), y(Temporary(1, 4).getIdx());
  const Xmm part(Temporary(2, 4).getIdx());
  constexpr uint32_t kHighest = 0x80000000u;
  const auto widen = [&](const Ymm& to, const Xmm& from, bool upper) {
    if (upper) vextracti128(part, Ymm(from.getIdx()), 1);
    const Xmm half(upper ? part.getIdx() : from.getIdx());
    if (is_signed) return vcvtdq2pd(to, half);
    vxorps(part, half, Constant(4, kHighest));
    vcvtdq2pd(to, part);
    vaddpd(to, to, Constant(0x1p31));
  };
  const auto divide = [&](const Xmm& to, bool upper) {
    widen(x, a, upper);
    widen(y, b, upper);
    vdivpd(x, x, y);
    if (is_signed) return vcvttpd2dq(to, x);
    vroundpd(x, x, native::kTowardZero);
    vsubpd(x, x, Constant(0x1p31));
    vcvttpd2dq(to, x);
    vxorps(to, to, Constant(4, kHighest));
  };
  divide(Xmm(out.getIdx()), false);
  if (lanes_ * 8 <= kBytes) return;
  divide(part, true);
  vinserti128(Ymm(out.getIdx()), Ymm(out.getIdx()), part, 1);
}

// Emits abs, sign, negate and not.
void Avx2Emitter::EmitSigns(const Op& op) {
  if (!IsFloatComputeType(compute_type(op.out))) return EmitSignsOfIntegers(op);
  const Opcode opcode = op.operation->opcode;
  const int width = nodes_[op.out].width;
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm mask = Temporary(0, width);
  const bool wide = width == 8;
  const uint64_t sign = wide ? uint64_t{1} << 63 : uint64_t{1} << 31;
  if (opcode == Opcode::kNegate) return vxorps(out, a, Constant(width, sign));
  if (opcode == Opcode::kAbs) return vandps(out, a, Constant(width, sign - 1));
  vpxor(mask, mask, mask);
  wide ? vcmppd(mask, a, mask, native::kNotEqual) : vcmpps(mask, a, mask, native::kNotEqual);
  vandps(out, a, Constant(width, sign));
  vorps(out, out, wide ? Constant(1.0) : Constant(1.0f));
  wide ? vblendvpd(out, a, out, mask) : vblendvps(out, a, out, mask);
}

void Avx2Emitter::EmitSignsOfIntegers(const Op& op) {
  const int width = nodes_[op.out].width, column = ColumnOfWidth(width);
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm zero = Temporary(0, width), mask = Temporary(1, width);
  vpxor(zero, zero, zero);
  switch (op.operation->opcode) {
    case Opcode::kNot:
      return vxorps(out, a, Constant(4, ~0u));
    case Opcode::kNegate:
      return InstructionOf(Opcode::kSubtract, compute_type(op.out))(*this, out, zero, a);
    case Opcode::kAbs:  // Of 64 bits; the others have an instruction.
      vpcmpgtq(mask, zero, a);
      vpxor(out, a, mask);
      return vpsubq(out, out, mask);
    default:
      break;
  }
  if (width == 8) {
    vpcmpgtq(mask, zero, a);
    vpcmpgtq(out, a, zero);
    return vpsubq(out, mask, out);
  }
  constexpr uint32_t kOne[] = {0x01010101, 0x00010001, 1};
  vmovaps(out, Constant(4, kOne[column]));
  kSign[column](*this, out, out, a);
}

// Emits roundings to integers.
void Avx2Emitter::EmitIntegral(const Op& op) {
  const Opcode opcode = op.operation->opcode;
  const bool wide = compute_type(op.out) == ComputeType::kF64;
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (opcode != Opcode::kRoundNearestAfz) {
    const uint8_t mode = native::RoundingModeOf(opcode);
    return wide ? vroundpd(out, a, mode) : vroundps(out, a, mode);
  }
  // Truncates the sum with the largest number below one half, of the same sign.
  if (wide) {
    vandps(out, a, Constant(8, uint64_t{1} << 63));
    vorps(out, out, Constant(0x1.fffffffffffffp-2));
    vaddpd(out, a, out);
    vroundpd(out, out, native::kTowardZero);
  } else {
    vandps(out, a, Constant(4, 0x80000000u));
    vorps(out, out, Constant(0x1.fffffep-2f));
    vaddps(out, a, out);
    vroundps(out, out, native::kTowardZero);
  }
}

void Avx2Emitter::EmitIsFinite(const Op& op) {
  const bool wide = compute_type(op.in[0]) == ComputeType::kF64;
  const int width = wide ? 8 : 4;
  const Xmm a = Use(op.in[0]);
  const Xmm mask = Register(Define(op.out).getIdx(), width);
  vandps(mask, a, Constant(width, wide ? ~uint64_t{0} >> 1 : 0x7fffffff));
  wide ? vcmppd(mask, mask, Constant(8, 0x7ff0000000000000u), native::kLess)
       : vcmpps(mask, mask, Constant(4, 0x7f800000), native::kLess);
  WidenPredicate(mask, width);
}

}  // namespace hlo::cpu
