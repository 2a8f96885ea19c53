// This file emits the operations of native loops. Results have the same bits as those of tile_ops.h.

#include <bit>

#include "kernels/cpu/loops/native_emitter.h"

namespace hlo::cpu {
namespace {

using Xbyak::CodeGenerator;
using Xbyak::Operand;
using Xbyak::Xmm;
using Simple = void (*)(CodeGenerator&, const Xmm&, const Xmm&, const Operand&);

bool IsFloatLane(Lane lane) { return lane == Lane::kF32 || lane == Lane::kF64; }
bool IsSignedLane(Lane lane) {
  return lane == Lane::kS8 || lane == Lane::kS16 || lane == Lane::kS32 || lane == Lane::kS64;
}

#define HLO_THREE(name) \
  [](CodeGenerator& to, const Xmm& o, const Xmm& a, const Operand& b) { to.name(o, a, b); }
#define HLO_TWO(name) [](CodeGenerator& to, const Xmm& o, const Xmm&, const Operand& a) { to.name(o, a); }

// The instructions of an opcode for integers of 8, 16, 32 and 64 bits, f32 and f64.
struct Instructions {
  Opcode opcode;
  Simple of[6];
};
constexpr Instructions kBinary[] = {
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
};
constexpr Instructions kUnary[] = {
    {Opcode::kSqrt, {nullptr, nullptr, nullptr, nullptr, HLO_TWO(vsqrtps), HLO_TWO(vsqrtpd)}},
    {Opcode::kCountLeadingZeros, {nullptr, nullptr, HLO_TWO(vplzcntd), HLO_TWO(vplzcntq)}},
};
constexpr Simple kMaximum[2][4] = {
    {HLO_THREE(vpmaxub), HLO_THREE(vpmaxuw), HLO_THREE(vpmaxud), HLO_THREE(vpmaxuq)},
    {HLO_THREE(vpmaxsb), HLO_THREE(vpmaxsw), HLO_THREE(vpmaxsd), HLO_THREE(vpmaxsq)}};
constexpr Simple kMinimum[2][4] = {
    {HLO_THREE(vpminub), HLO_THREE(vpminuw), HLO_THREE(vpminud), HLO_THREE(vpminuq)},
    {HLO_THREE(vpminsb), HLO_THREE(vpminsw), HLO_THREE(vpminsd), HLO_THREE(vpminsq)}};
constexpr Simple kAbs[4] = {HLO_TWO(vpabsb), HLO_TWO(vpabsw), HLO_TWO(vpabsd), HLO_TWO(vpabsq)};

// Returns the column of a lane in these tables.
int ColumnOf(Lane lane) {
  if (lane == Lane::kF32) return 4;
  if (lane == Lane::kF64) return 5;
  return std::countr_zero(static_cast<uint64_t>(LaneBytes(lane)));
}

// The comparison predicates of integers and, ordered except for kNe, of floats.
int IntegerPredicate(ComparisonDirection direction) {
  constexpr int kPredicates[] = {0, 4, 5, 6, 2, 1};
  return kPredicates[static_cast<int>(direction)];
}
int FloatPredicate(ComparisonDirection direction) {
  constexpr int kPredicates[] = {0x00, 0x04, 0x1d, 0x1e, 0x12, 0x11};
  return kPredicates[static_cast<int>(direction)];
}
static_assert(static_cast<int>(ComparisonDirection::kEq) == 0 &&
              static_cast<int>(ComparisonDirection::kNe) == 1 &&
              static_cast<int>(ComparisonDirection::kGe) == 2 &&
              static_cast<int>(ComparisonDirection::kGt) == 3 &&
              static_cast<int>(ComparisonDirection::kLe) == 4 &&
              static_cast<int>(ComparisonDirection::kLt) == 5);

constexpr int kUnordered = 3, kOrdered = 7;  // Comparison predicates.
constexpr int kRegisterBytes = 64;

}  // namespace

// --- Selection.

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
      op.emitter =
          program_.lane(op.in[0]) == Lane::kPred ? &NativeEmitter::EmitMask : &NativeEmitter::EmitCompare;
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
  const Lane lane = program_.lane(op.in[0]);
  const Opcode opcode = op.operation->opcode;
  const int column = ColumnOf(lane);
  if (lane == Lane::kPred) {
    switch (opcode) {
      case Opcode::kAdd:
      case Opcode::kMultiply:
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kAnd:
      case Opcode::kOr:
      case Opcode::kXor:
      case Opcode::kNot:
        op.emitter = &NativeEmitter::EmitMask;
        return true;
      default:
        return false;
    }
  }
  if (!IsFloatLane(lane) && LaneBytes(lane) <= 4 && lanes_ * 4 <= kRegisterBytes &&
      (opcode == Opcode::kDivide || opcode == Opcode::kRemainder)) {
    op.emitter = &NativeEmitter::EmitDivide;
    return true;
  }
  const auto use = [&](Emitter emitter, Simple simple) {
    op.emitter = emitter;
    op.simple = simple;
    return simple != nullptr;
  };
  for (const Instructions& each : kBinary) {
    if (each.opcode == opcode) return use(&NativeEmitter::EmitSimple, each.of[column]);
  }
  for (const Instructions& each : kUnary) {
    if (each.opcode == opcode) return use(&NativeEmitter::EmitSimple, each.of[column]);
  }
  switch (opcode) {
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      if (!IsFloatLane(lane))
        return use(&NativeEmitter::EmitSimple,
                   (opcode == Opcode::kMaximum ? kMaximum : kMinimum)[IsSignedLane(lane)][column]);
      [[fallthrough]];
    case Opcode::kClamp:
      op.emitter = &NativeEmitter::EmitExtreme;
      return true;
    case Opcode::kAbs:
      if (IsSignedLane(lane)) return use(&NativeEmitter::EmitSimple, kAbs[column]);
      [[fallthrough]];
    case Opcode::kSign:
      if (!IsFloatLane(lane) && !IsSignedLane(lane)) return false;
      [[fallthrough]];
    case Opcode::kNegate:
    case Opcode::kNot:
      op.emitter = &NativeEmitter::EmitSigns;
      return true;
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestEven:
    case Opcode::kRoundNearestAfz:
      op.emitter = &NativeEmitter::EmitIntegral;
      return true;
    case Opcode::kIsFinite:
      op.emitter = &NativeEmitter::EmitIsFinite;
      return true;
    case Opcode::kExponential:
    case Opcode::kLogistic:
    case Opcode::kTanh:
      // Other targets compute f32 without fused multiply-add.
      if (lane == Lane::kF32 && VectorFunctionOf(opcode, lane) != nullptr) {
        op.emitter = &NativeEmitter::EmitExponential;
        return true;
      }
      [[fallthrough]];
    default:
      op.function = VectorFunctionOf(opcode, lane);
      return op.function != nullptr;
  }
}

bool NativeEmitter::ChooseConvert(Op& op) {
  const Lane from = program_.lane(op.in[0]), to = program_.lane(op.out);
  const ElementType type = op.operation->to;
  // Conversions from f64 to small floats round once.
  if (from == Lane::kF64 && to == Lane::kF32 && type != ElementType::kF32 && BitWidth(type) <= 8)
    return false;
  const auto use = [&](Emitter emitter) {
    op.emitter = emitter;
    return true;
  };
  if (from == to || (!IsFloatLane(from) && !IsFloatLane(to) && from != Lane::kPred && to != Lane::kPred &&
                     LaneBytes(from) == LaneBytes(to))) {
    nodes_[op.out].root = nodes_[op.in[0]].root;
    return true;
  }
  if (to == Lane::kPred) return use(&NativeEmitter::EmitToPred);
  if (from == Lane::kPred) return use(&NativeEmitter::EmitFromPred);
  if (IsFloatLane(from) && !IsFloatLane(to)) return use(&NativeEmitter::EmitFloatToInteger);
  return use(&NativeEmitter::EmitConvert);
}

// --- Arithmetic.

void NativeEmitter::EmitSimple(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const int last = op.operand_count - 1;
  const Operand& b = Any(op.in[last]);
  const bool rounds = op.operation->kind == loops::Operation::Kind::kRoundedScalar;
  op.simple(*this, Define(op.out), a, b);
  // The operands are exact in bf16, and so are the NaNs.
  if (rounds) RoundToBF16(Register(node(op.out).reg, 4), true);
}

// Emits operations on predicates.
void NativeEmitter::EmitMask(const Op& op) {
  const Opmask a = UseMask(op.in[0]), b = op.operand_count > 1 ? UseMask(op.in[1]) : a;
  const Opmask out = DefineMask(op.out);
  if (op.operation->kind == loops::Operation::Kind::kCompare) {
    switch (op.operation->direction) {
      case ComparisonDirection::kEq:
        return kxnorq(out, a, b);
      case ComparisonDirection::kNe:
        return kxorq(out, a, b);
      case ComparisonDirection::kGt:
        return kandnq(out, b, a);
      case ComparisonDirection::kLt:
        return kandnq(out, a, b);
      case ComparisonDirection::kGe:
        kandnq(out, a, b);
        return knotq(out, out);
      case ComparisonDirection::kLe:
        kandnq(out, b, a);
        return knotq(out, out);
    }
  }
  switch (op.operation->opcode) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kMaximum:
      return korq(out, a, b);
    case Opcode::kXor:
      return kxorq(out, a, b);
    case Opcode::kNot:
      return knotq(out, a);
    default:
      return kandq(out, a, b);
  }
}

void NativeEmitter::EmitCompare(const Op& op) {
  const Lane lane = program_.lane(op.in[0]);
  Xmm a = Use(op.in[0]);
  const Operand* b = nullptr;
  int predicate = IntegerPredicate(op.operation->direction);
  const bool is_total = IsFloatLane(lane) && op.operation->total_order;
  if (is_total) {
    // Flips the bits of negative numbers except the sign, to compare them as integers.
    const Xmm second = Use(op.in[1]);
    const int width = nodes_[op.in[0]].width;
    const Xmm keys[] = {Temporary(0, width), Temporary(1, width)};
    const Xmm from[] = {a, second};
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
    return width == 4 ? vpcmpd(out, keys[0], keys[1], predicate) : vpcmpq(out, keys[0], keys[1], predicate);
  }
  b = &Any(op.in[1]);
  const Opmask out = DefineMask(op.out);
  switch (lane) {
    case Lane::kF32:
      return vcmpps(out, a, *b, FloatPredicate(op.operation->direction));
    case Lane::kF64:
      return vcmppd(out, a, *b, FloatPredicate(op.operation->direction));
    case Lane::kS8:
      return vpcmpb(out, a, *b, predicate);
    case Lane::kS16:
      return vpcmpw(out, a, *b, predicate);
    case Lane::kS32:
      return vpcmpd(out, a, *b, predicate);
    case Lane::kS64:
      return vpcmpq(out, a, *b, predicate);
    case Lane::kU8:
      return vpcmpub(out, a, *b, predicate);
    case Lane::kU16:
      return vpcmpuw(out, a, *b, predicate);
    case Lane::kU32:
      return vpcmpud(out, a, *b, predicate);
    default:
      return vpcmpuq(out, a, *b, predicate);
  }
}

void NativeEmitter::EmitSelect(const Op& op) {
  const Opmask mask = UseMask(op.in[0]);
  if (program_.lane(op.out) == Lane::kPred) {
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

// Emits maximum, minimum and clamp.
void NativeEmitter::EmitExtreme(const Op& op) {
  const Lane lane = program_.lane(op.out);
  const bool clamps = op.operation->opcode == Opcode::kClamp;
  const Xmm a = Use(op.in[0]), b = Use(op.in[1]);
  if (!clamps) return Extreme(Define(op.out), a, b, op.operation->opcode == Opcode::kMaximum, lane);
  const Xmm high = Use(op.in[2]);
  const Xmm out = Define(op.out), larger = Temporary(0, nodes_[op.out].width);
  Extreme(larger, a, b, true, lane);
  Extreme(out, larger, high, false, lane);
}

// Divides integers of up to 32 bits as floats of twice the width. The quotient of two integers that is no
// integer is further from one than the rounding error. Conversions of quotients beyond the range give the
// minimum, or all ones if unsigned, as does division by zero.
void NativeEmitter::EmitDivide(const Op& op) {
  const Lane lane = program_.lane(op.out);
  const int width = node(op.out).width;
  const bool is_signed = IsSignedLane(lane);
  const Xmm a = Use(op.in[0]), b = Use(op.in[1]);
  const Xmm out = Define(op.out);
  const Xmm words[] = {Temporary(0, 4), Temporary(1, 4), Temporary(2, 4)};
  // Returns the elements as words, extended to `to` if they are narrower.
  const auto extend = [&](const Xmm& from, const Xmm& to) {
    if (width == 4) return from;
    Resize(to, 4, from, width, is_signed);
    return to;
  };
  const Xmm dividend = extend(a, words[0]), divisor = extend(b, words[1]);
  if (width < 4) {
    vptestnmd(k1, divisor, divisor);
    vcvtdq2ps(words[0], dividend);
    vcvtdq2ps(words[1], divisor);
    vdivps(words[0], words[0], words[1]);
    vcvttps2dq(words[0], words[0]);
    vpternlogd(words[0] | k1, words[0], words[0], 0xff);
    if (op.operation->opcode == Opcode::kRemainder) {
      Resize(words[1], 4, b, width, is_signed);
      vpmulld(words[0], words[0], words[1]);
      Resize(words[1], 4, a, width, is_signed);
      vpsubd(words[0], words[1], words[0]);
    }
    return Resize(out, width, words[0], 4, is_signed);
  }
  const auto widen = [&](const Xmm& to, const Xmm& from) {
    is_signed ? vcvtdq2pd(to, from) : vcvtudq2pd(to, from);
  };
  const auto narrow = [&](const Xmm& to, const Xmm& from) {
    is_signed ? vcvttpd2dq(to, from) : vcvttpd2udq(to, from);
  };
  const int halves = lanes_ * 8 / kRegisterBytes;
  if (halves < 2) {
    const Xmm wide[] = {Temporary(0, 8), Temporary(1, 8)};
    widen(wide[0], a);
    widen(wide[1], b);
    vdivpd(wide[0], wide[0], wide[1]);
    narrow(out, wide[0]);
  } else {
    using Xbyak::Ymm;
    const Xbyak::Zmm x(words[0].getIdx()), y(words[1].getIdx());
    const Ymm part(words[2].getIdx());
    widen(x, Ymm(a.getIdx()));
    widen(y, Ymm(b.getIdx()));
    vdivpd(x, x, y);
    narrow(Ymm(out.getIdx()), x);
    vextracti64x4(part, Xbyak::Zmm(a.getIdx()), 1);
    widen(x, part);
    vextracti64x4(part, Xbyak::Zmm(b.getIdx()), 1);
    widen(y, part);
    vdivpd(x, x, y);
    narrow(part, x);
    vinserti64x4(Xbyak::Zmm(out.getIdx()), Xbyak::Zmm(out.getIdx()), part, 1);
  }
  if (is_signed) {
    vptestnmd(k1, b, b);
    vpternlogd(out | k1, out, out, 0xff);
  }
  if (op.operation->opcode != Opcode::kRemainder) return;
  vpmulld(out, out, b);
  vpsubd(out, a, out);
}

// `out` differs from the operands.
void NativeEmitter::Extreme(const Xmm& out, const Xmm& a, const Xmm& b, bool is_maximum, Lane lane) {
  if (!IsFloatLane(lane))
    return (is_maximum ? kMaximum : kMinimum)[IsSignedLane(lane)][ColumnOf(lane)](*this, out, a, b);
  // The instructions return their second operand for equal numbers and for NaNs.
  if (lane == Lane::kF32) {
    vcmpps(k1, a, b, 0);
    vcmpps(k2, a, a, kUnordered);
    is_maximum ? vmaxps(out, a, b) : vminps(out, a, b);
    is_maximum ? vandps(out | k1, a, b) : vorps(out | k1, a, b);
    vmovdqa32(out | k2, a);
  } else {
    vcmppd(k1, a, b, 0);
    vcmppd(k2, a, a, kUnordered);
    is_maximum ? vmaxpd(out, a, b) : vminpd(out, a, b);
    is_maximum ? vandpd(out | k1, a, b) : vorpd(out | k1, a, b);
    vmovdqa64(out | k2, a);
  }
}

// Emits abs and sign of floats, sign of integers, negate and not.
void NativeEmitter::EmitSigns(const Op& op) {
  const Lane lane = program_.lane(op.out);
  const Opcode opcode = op.operation->opcode;
  const int width = nodes_[op.out].width;
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm zero = Temporary(0, width);
  if (opcode == Opcode::kNot) return vpternlogd(out, a, a, 0x55);
  if (!IsFloatLane(lane)) {
    vpxord(zero, zero, zero);
    if (opcode == Opcode::kNegate) {
      switch (width) {
        case 1:
          return vpsubb(out, zero, a);
        case 2:
          return vpsubw(out, zero, a);
        case 4:
          return vpsubd(out, zero, a);
        default:
          return vpsubq(out, zero, a);
      }
    }
    if (opcode == Opcode::kAbs) return vmovdqa32(out, a);
    const Xmm one = Temporary(1, width);
    vpternlogd(one, one, one, 0xff);
    kMaximum[1][ColumnOf(lane)](*this, out, a, one);
    width == 1   ? vpabsb(one, one)
    : width == 2 ? vpabsw(one, one)
    : width == 4 ? vpabsd(one, one)
                 : vpabsq(one, one);
    return kMinimum[1][ColumnOf(lane)](*this, out, out, one);
  }
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
  constexpr int kNotEqualOrdered = 0x0c;
  if (wide) {
    vcmppd(k1, a, zero, kNotEqualOrdered);
    vpandq(out | k1, a, sign_bit);
    vporq(out | k1, out, Constant(8, std::bit_cast<uint64_t>(1.0)));
  } else {
    vcmpps(k1, a, zero, kNotEqualOrdered);
    vpandd(out | k1, a, sign_bit);
    vpord(out | k1, out, Constant(4, std::bit_cast<uint32_t>(1.0f)));
  }
}

// Emits roundings to integers.
void NativeEmitter::EmitIntegral(const Op& op) {
  const Opcode opcode = op.operation->opcode;
  const bool wide = program_.lane(op.out) == Lane::kF64;
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (opcode != Opcode::kRoundNearestAfz) {
    const uint8_t mode = opcode == Opcode::kFloor ? 9 : opcode == Opcode::kCeil ? 10 : 8;
    return wide ? vrndscalepd(out, a, mode) : vrndscaleps(out, a, mode);
  }
  // Truncates the sum with the largest number below one half, of the same sign.
  if (wide) {
    vpandq(out, a, Constant(8, uint64_t{1} << 63));
    vporq(out, out, Constant(8, std::bit_cast<uint64_t>(0x1.fffffffffffffp-2)));
    vaddpd(out, a, out);
    vrndscalepd(out, out, 11);
  } else {
    vpandd(out, a, Constant(4, 0x80000000u));
    vpord(out, out, Constant(4, std::bit_cast<uint32_t>(0x1.fffffep-2f)));
    vaddps(out, a, out);
    vrndscaleps(out, out, 11);
  }
}

void NativeEmitter::EmitIsFinite(const Op& op) {
  constexpr int kInfiniteOrNaN = 0x99;
  const Xmm a = Use(op.in[0]);
  const Opmask out = DefineMask(op.out);
  program_.lane(op.in[0]) == Lane::kF64 ? vfpclasspd(out, a, kInfiniteOrNaN)
                                        : vfpclassps(out, a, kInfiniteOrNaN);
  knotq(out, out);
}

// --- Conversions.

// Rounds in place. A NaN whose lower half is zero stays as it is if `keeps_nans`.
void NativeEmitter::RoundToBF16(const Xmm& value, bool keeps_nans) {
  const Xmm sum = Temporary(0, 4);
  vptestmd(k1, value, Constant(4, 0x10000));
  vpaddd(sum, value, Constant(4, 0x7fff));
  vpaddd(sum | k1, value, Constant(4, 0x8000));
  if (keeps_nans) return vpandd(value, sum, Constant(4, 0xffff0000u));
  vcmpps(k2, value, value, kOrdered);
  vpandd(value, value, Constant(4, 0x80000000u));
  vpord(value, value, Constant(4, 0x7fc00000u));
  vpandd(value | k2, sum, Constant(4, 0xffff0000u));
}

void NativeEmitter::EmitRound(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (op.operation->to == ElementType::kF16) {
    vcvtps2ph(Temporary(0, 2), a, 0);
    return vcvtph2ps(out, Temporary(0, 2));
  }
  vmovdqa32(out, a);
  RoundToBF16(out, false);
}

// Emits internal::SplitExp of vector_functions.h: replaces x by t, with k in temporary register 0, plus a
// constant, and in register 1, as a float. The function may use `square`, which is one of the two.
void NativeEmitter::ReduceExponent(const Xmm& x, const Xmm& square) {
  const auto number = [&](float value) { return Constant(4, std::bit_cast<uint32_t>(value)); };
  const auto splat = [&](const Xmm& to, float value) {
    vpbroadcastd(to, dword[rip + constants_[{4, std::bit_cast<uint32_t>(value)}]]);
  };
  const Xmm shifted = Temporary(0, 4), n = Temporary(1, 4), q = Temporary(2, 4);
  splat(shifted, 12582912.0f);
  vfmadd231ps(shifted, x, number(1.44269504f));
  vsubps(n, shifted, number(12582912.0f));
  vfmadd231ps(x, n, number(-0.693359375f));
  vfmadd231ps(x, n, number(2.12194440e-4f));
  splat(q, 1.381422160193324e-3f);
  for (const float next :
       {8.36889911442995e-3f, 4.166840389370918e-2f, 0.1666651964187622f, 0.4999999403953552f})
    vfmadd213ps(q, x, number(next));
  vmulps(square, x, x);
  vfmadd231ps(x, square, q);
}

// Emits ExpF32, LogisticF32 and TanhF32 of vector_functions.h.
void NativeEmitter::EmitExponential(const Op& op) {
  const auto number = [&](float value) { return Constant(4, std::bit_cast<uint32_t>(value)); };
  const auto splat = [&](const Xmm& to, float value) {
    vpbroadcastd(to, dword[rip + constants_[{4, std::bit_cast<uint32_t>(value)}]]);
  };
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm first = Temporary(0, 4), second = Temporary(1, 4);
  // The instructions for extremes return the second operand for NaN.
  if (op.operation->opcode == Opcode::kTanh) {
    vpandd(out, a, Constant(4, 0x7fffffff));
    splat(first, 10.0f);
    vminps(out, first, out);
    vmulps(out, out, number(-2.0f));
    ReduceExponent(out, second);
    vpsubd(first, first, Constant(4, 0x4b400000 - 127));
    vpslld(first, first, 23);
    vsubps(second, first, number(1.0f));
    vfmadd213ps(out, first, second);
    vaddps(first, out, number(2.0f));
    vdivps(out, out, first);
    return vpternlogd(out, a, Constant(4, 0x80000000u), 0xd8);  // The sign of the operand.
  }
  const bool is_logistic = op.operation->opcode == Opcode::kLogistic;
  if (is_logistic) vpxord(out, a, Constant(4, 0x80000000u));
  splat(first, 89.0f);
  vminps(out, first, is_logistic ? out : a);
  splat(first, -104.0f);
  vmaxps(out, first, out);
  ReduceExponent(out, first);
  vaddps(out, out, number(1.0f));
  vscalefps(out, out, second);
  if (!is_logistic) return;
  vaddps(out, out, number(1.0f));
  splat(first, 1.0f);
  vdivps(out, first, out);
}

void NativeEmitter::EmitBitsOfBF16(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (op.operation->from == ElementType::kBF16) {
    vpsrld(Temporary(0, 4), a, 16);
    return vpmovdw(out, Temporary(0, 4));
  }
  vpmovzxwd(out, a);
  vpslld(out, out, 16);
}

// Extends or truncates integers. `out` may be `from`.
void NativeEmitter::Resize(const Xmm& out, int to_width, const Xmm& from, int from_width, bool is_signed) {
  switch (from_width * 16 + to_width) {
    case 0x12:
      return is_signed ? vpmovsxbw(out, from) : vpmovzxbw(out, from);
    case 0x14:
      return is_signed ? vpmovsxbd(out, from) : vpmovzxbd(out, from);
    case 0x18:
      return is_signed ? vpmovsxbq(out, from) : vpmovzxbq(out, from);
    case 0x24:
      return is_signed ? vpmovsxwd(out, from) : vpmovzxwd(out, from);
    case 0x28:
      return is_signed ? vpmovsxwq(out, from) : vpmovzxwq(out, from);
    case 0x48:
      return is_signed ? vpmovsxdq(out, from) : vpmovzxdq(out, from);
    case 0x21:
      return vpmovwb(out, from);
    case 0x41:
      return vpmovdb(out, from);
    case 0x42:
      return vpmovdw(out, from);
    case 0x81:
      return vpmovqb(out, from);
    case 0x82:
      return vpmovqw(out, from);
    case 0x84:
      return vpmovqd(out, from);
    default:
      return vmovdqa32(out, from);
  }
}

// Emits conversions between integers, between floats, and from integers to floats.
void NativeEmitter::EmitConvert(const Op& op) {
  const Lane from = program_.lane(op.in[0]), to = program_.lane(op.out);
  const int from_width = nodes_[op.in[0]].width, to_width = nodes_[op.out].width;
  const bool is_signed = IsSignedLane(from);
  Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (!IsFloatLane(to)) return Resize(out, to_width, a, from_width, is_signed);
  if (from == Lane::kF32) return vcvtps2pd(out, a);
  if (from == Lane::kF64) return vcvtpd2ps(out, a);
  const bool to_double = to == Lane::kF64;
  if (from_width == 8) {
    if (is_signed) return to_double ? vcvtqq2pd(out, a) : vcvtqq2ps(out, a);
    return to_double ? vcvtuqq2pd(out, a) : vcvtuqq2ps(out, a);
  }
  if (from == Lane::kU32) return to_double ? vcvtudq2pd(out, a) : vcvtudq2ps(out, a);
  if (from_width < 4) {
    const Xmm wide = Temporary(0, 4);
    Resize(wide, 4, a, from_width, is_signed);
    a = wide;
  }
  to_double ? vcvtdq2pd(out, a) : vcvtdq2ps(out, a);
}

// Emits conversions that truncate and saturate; NaN gives 0.
void NativeEmitter::EmitFloatToInteger(const Op& op) {
  constexpr int kAtLeast = 0x1d;
  const bool wide = program_.lane(op.in[0]) == Lane::kF64;
  const Lane to = program_.lane(op.out);
  const int from_width = wide ? 8 : 4, to_width = nodes_[op.out].width;
  const int bits = static_cast<int>(BitWidth(op.operation->to));
  const auto number = [&](double value) {
    return wide ? Constant(8, std::bit_cast<uint64_t>(value))
                : Constant(4, std::bit_cast<uint32_t>(static_cast<float>(value)));
  };
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm clamped = Temporary(0, from_width), zero = Temporary(1, from_width);
  const auto compare = [&](const Operand& b, int predicate) {
    wide ? vcmppd(k1, a, b, predicate) : vcmpps(k1, a, b, predicate);
  };
  if (to_width < 4) {
    const double high = static_cast<double>((1 << (IsSignedLane(to) ? bits - 1 : bits)) - 1);
    const double low = IsSignedLane(to) ? -high - 1 : 0;
    const Xmm words = Temporary(1, 4);
    compare(a, kOrdered);
    if (wide) {
      vmaxpd(clamped, a, number(low));
      vminpd(clamped, clamped, number(high));
      vcvttpd2dq(words | k1 | T_z, clamped);
    } else {
      vmaxps(clamped, a, number(low));
      vminps(clamped, clamped, number(high));
      vcvttps2dq(words | k1 | T_z, clamped);
    }
    return Resize(out, to_width, words, 4, true);
  }
  if (!IsSignedLane(to)) {
    // The instructions return the second operand for NaN, and all ones for numbers that are too large.
    vpxord(zero, zero, zero);
    wide ? vmaxpd(clamped, a, zero) : vmaxps(clamped, a, zero);
    if (to_width == 4) return wide ? vcvttpd2udq(out, clamped) : vcvttps2udq(out, clamped);
    return wide ? vcvttpd2uqq(out, clamped) : vcvttps2uqq(out, clamped);
  }
  if (to_width == 4) {
    wide ? vcvttpd2dq(out, a) : vcvttps2dq(out, a);
    compare(number(2147483647.0), kAtLeast);
    vpbroadcastd(out | k1, dword[rip + constants_[{4, 0x7fffffff}]]);
  } else {
    wide ? vcvttpd2qq(out, a) : vcvttps2qq(out, a);
    compare(number(0x1p63), kAtLeast);
    vpbroadcastq(out | k1, qword[rip + constants_[{8, ~uint64_t{0} >> 1}]]);
  }
  compare(a, kOrdered);
  to_width == 4 ? vmovdqa32(out | k1 | T_z, out) : vmovdqa64(out | k1 | T_z, out);
}

void NativeEmitter::EmitToPred(const Op& op) {
  const Lane lane = program_.lane(op.in[0]);
  const Xmm a = Use(op.in[0]);
  const Opmask out = DefineMask(op.out);
  const Xmm zero = Temporary(0, nodes_[op.in[0]].width);
  constexpr int kNotEqual = 4;
  switch (LaneBytes(lane)) {
    case 1:
      return vptestmb(out, a, a);
    case 2:
      return vptestmw(out, a, a);
    case 4:
      if (lane != Lane::kF32) return vptestmd(out, a, a);
      vpxord(zero, zero, zero);
      return vcmpps(out, a, zero, kNotEqual);
    default:
      if (lane != Lane::kF64) return vptestmq(out, a, a);
      vpxord(zero, zero, zero);
      return vcmppd(out, a, zero, kNotEqual);
  }
}

void NativeEmitter::EmitFromPred(const Op& op) {
  const Opmask mask = UseMask(op.in[0]);
  const Xmm out = Define(op.out) | mask | T_z;
  switch (program_.lane(op.out)) {
    case Lane::kF32:
      return vpbroadcastd(out, dword[rip + constants_[{4, std::bit_cast<uint32_t>(1.0f)}]]);
    case Lane::kF64:
      return vpbroadcastq(out, qword[rip + constants_[{8, std::bit_cast<uint64_t>(1.0)}]]);
    default:
      break;
  }
  switch (nodes_[op.out].width) {
    case 1:
      return vmovdqu8(out, OnesInBytes());
    case 2:
      return vpbroadcastw(out, word[rip + constants_[{8, 1}]]);
    case 4:
      return vpbroadcastd(out, dword[rip + constants_[{4, 1}]]);
    default:
      return vpbroadcastq(out, qword[rip + constants_[{8, 1}]]);
  }
}

}  // namespace hlo::cpu
