// This file emits conversions of native loops with AVX2. Results have the same bits as those of tile_ops.h.

#include <bit>

#include "kernels/cpu/loops/avx2_emitter.h"
#include "kernels/cpu/loops/native_instructions.h"

namespace hlo::cpu {

using Xbyak::Ymm;

// Rounds in place. A NaN whose lower half is zero stays as it is if `keeps_nans`.
void Avx2Emitter::RoundToBF16(const Xmm& value, bool keeps_nans) {
  const Xmm sum = Temporary(0, 4), ordered = Temporary(1, 4);
  vpsrld(sum, value, 16);
  vandps(sum, sum, Constant(4, 1));
  vpaddd(sum, sum, Constant(4, 0x7fff));
  vpaddd(sum, sum, value);
  if (keeps_nans) return vandps(value, sum, Constant(4, 0xffff0000u));
  vandps(sum, sum, Constant(4, 0xffff0000u));
  vcmpps(ordered, value, value, native::kOrdered);
  vandps(value, value, Constant(4, 0x80000000u));
  vorps(value, value, Constant(4, 0x7fc00000u));
  vblendvps(value, value, sum, ordered);
}

// Extends or truncates integers. `out` may be `from`.
void Avx2Emitter::Resize(const Xmm& out, int to_width, const Xmm& from, int from_width, bool is_signed) {
  if (to_width > from_width) return Extend(out, to_width, from, from_width, is_signed);
  if (to_width == from_width) return vmovaps(out, from);
  // Halves the width until it is `to_width`. Instructions pack the halves of a vector separately.
  Xmm source = from;
  for (int width = from_width; width > to_width; width /= 2) {
    const Xmm to = Register(out.getIdx(), width);
    if (width == 8) {
      vshufps(to, source, source, 0x88);
    } else {
      vandps(to, source, Constant(4, width == 4 ? 0xffff : 0x00ff00ff));
      width == 4 ? vpackusdw(to, to, to) : vpackuswb(to, to, to);
    }
    if (lanes_ * width == kBytes) vpermq(Ymm(out.getIdx()), Ymm(out.getIdx()), 0x08);
    source = Register(out.getIdx(), width / 2);
  }
}

NativeEmitter::Xmm Avx2Emitter::PredicateOf(Value value, int width) {
  const Xmm predicate = Use(value);
  if (width == PredicateWidth()) return predicate;
  const Xmm narrow = Temporary(0, width);
  Resize(narrow, width, predicate, PredicateWidth(), true);
  return narrow;
}

void Avx2Emitter::WidenPredicate(const Xmm& mask, int width) {
  if (width == PredicateWidth()) return;
  Resize(Register(mask.getIdx(), PredicateWidth()), PredicateWidth(), Register(mask.getIdx(), width), width,
         true);
}

// Emits conversions between integers, between floats, and from integers to floats.
void Avx2Emitter::EmitConvert(const Op& op) {
  const ComputeType from = compute_type(op.in[0]), to = compute_type(op.out);
  const int from_width = nodes_[op.in[0]].width, to_width = nodes_[op.out].width;
  const bool is_signed = native::IsSignedComputeType(from), to_double = to == ComputeType::kF64;
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm words = Temporary(0, 4);
  if (!native::IsFloatComputeType(to)) return Resize(out, to_width, a, from_width, is_signed);
  if (from == ComputeType::kF32) return vcvtps2pd(out, a);
  if (from == ComputeType::kF64) return vcvtpd2ps(out, a);
  if (from_width == 8) return ConvertWideIntegers(op);
  if (from == ComputeType::kU32) return ConvertWords(out, a, to_double);
  if (from_width < 4) Resize(words, 4, a, from_width, is_signed);
  const Xmm& integers = from_width < 4 ? words : a;
  to_double ? vcvtdq2pd(out, integers) : vcvtdq2ps(out, integers);
}

// Converts unsigned integers of 32 bits.
void Avx2Emitter::ConvertWords(const Xmm& out, const Xmm& a, bool to_double) {
  const Xmm words = Temporary(0, 4);
  if (to_double) {
    vxorps(words, a, Constant(4, 0x80000000u));
    vcvtdq2pd(out, words);
    return vaddpd(out, out, Constant(0x1p31));
  }
  // The product is exact, so that only the sum is rounded.
  vpsrld(words, a, 16);
  vcvtdq2ps(words, words);
  vmulps(words, words, Constant(0x1p16f));
  vandps(out, a, Constant(4, 0xffff));
  vcvtdq2ps(out, out);
  vaddps(out, out, words);
}

// Converts integers of 64 bits. Their halves become the lower bits of 2^84 and 2^52, so that only the sum of
// the two is rounded. Before f32, which rounds again, the lowest bits of large integers become one bit, the
// lowest one that f64 has of all integers.
void Avx2Emitter::ConvertWideIntegers(const Op& op) {
  const bool is_signed = native::IsSignedComputeType(compute_type(op.in[0]));
  const bool to_double = compute_type(op.out) == ComputeType::kF64;
  const Xmm a = Use(op.in[0]), result = Register(node(op.out).reg, node(op.out).width);
  const Ymm x(kVectors), high(kVectors + 1), low(kVectors + 2);
  vmovaps(x, Ymm(a.getIdx()));
  if (!to_double) {
    constexpr uint64_t kLowest = 0x7ff, kSmall = uint64_t{1} << 53;
    constexpr int kBitsOfSmall = 53;
    if (is_signed) vpaddq(high, x, Constant(8, kSmall));
    vpsrlq(high, is_signed ? high : x, is_signed ? kBitsOfSmall + 1 : kBitsOfSmall);
    vpxor(low, low, low);
    vpcmpeqq(high, high, low);  // All ones for small integers.
    vandpd(low, x, Constant(8, kLowest));
    vpaddq(low, low, Constant(8, kLowest));
    vorpd(low, low, x);
    vandpd(low, low, Constant(8, ~kLowest));
    vblendvpd(x, low, x, high);
  }
  if (is_signed) vxorpd(x, x, Constant(8, uint64_t{1} << 63));
  vpsrlq(high, x, 32);
  vorpd(high, high, Constant(0x1p84));
  vsubpd(high, high, is_signed ? Constant(0x1p84 + 0x1p63 + 0x1p52) : Constant(0x1p84 + 0x1p52));
  vandpd(low, x, Constant(8, 0xffffffffu));
  vorpd(low, low, Constant(0x1p52));
  if (to_double) return vaddpd(result, high, low);
  vaddpd(high, high, low);
  vcvtpd2ps(result, high);
}

// Emits conversions that truncate and saturate; NaN gives 0.
void Avx2Emitter::EmitFloatToInteger(const Op& op) {
  const bool wide = compute_type(op.in[0]) == ComputeType::kF64;
  const ComputeType to = compute_type(op.out);
  const int from_width = wide ? 8 : 4, to_width = nodes_[op.out].width;
  const bool is_signed = native::IsSignedComputeType(to);
  const auto bits = static_cast<int>(BitWidth(op.operation->to));
  if (to_width == 8) return FloatToWideInteger(op);
  if (to == ComputeType::kU32) return FloatToUnsignedWord(op);
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm clamped = Temporary(0, from_width), words = Temporary(1, 4);
  wide ? vcmppd(clamped, a, a, native::kOrdered) : vcmpps(clamped, a, a, native::kOrdered);
  vandps(clamped, clamped, a);
  if (to_width == 4 && !wide) {
    // The instruction returns the minimum for numbers beyond the range.
    constexpr int kAtLeast = 0x1d;
    vcmpps(words, clamped, Constant(0x1p31f), kAtLeast);
    vcvttps2dq(out, clamped);
    return vxorps(out, out, words);
  }
  const double high = static_cast<double>((int64_t{1} << (is_signed ? bits - 1 : bits)) - 1);
  const double low = is_signed ? -high - 1 : 0;
  if (wide) {
    vmaxpd(clamped, clamped, Constant(low));
    vminpd(clamped, clamped, Constant(high));
    vcvttpd2dq(words, clamped);
  } else {
    vmaxps(clamped, clamped, Constant(static_cast<float>(low)));
    vminps(clamped, clamped, Constant(static_cast<float>(high)));
    vcvttps2dq(words, clamped);
  }
  Resize(out, to_width, words, 4, true);
}

// Converts to u32 as signed integers that are smaller by 2^31.
void Avx2Emitter::FloatToUnsignedWord(const Op& op) {
  constexpr int kAtLeast = 0x1d;
  const Xmm a = Use(op.in[0]), out = Define(op.out);
  const Xmm x = Temporary(0, node(op.in[0]).width), zero = Temporary(1, node(op.in[0]).width);
  vxorps(zero, zero, zero);
  if (node(op.in[0]).width == 8) {
    vmaxpd(x, a, zero);  // The instruction returns its second operand for NaN.
    vminpd(x, x, Constant(4294967295.0));
    vroundpd(x, x, native::kTowardZero);
    vsubpd(x, x, Constant(0x1p31));
    vcvttpd2dq(out, x);
    return vxorps(out, out, Constant(4, 0x80000000u));
  }
  const Xmm is_large = Temporary(1, 4), other = Temporary(2, 4);
  vmaxps(x, a, zero);
  vcmpps(other, x, Constant(0x1p32f), kAtLeast);
  vcmpps(is_large, x, Constant(0x1p31f), kAtLeast);
  vandps(out, is_large, Constant(0x1p31f));
  vsubps(x, x, out);
  vcvttps2dq(out, x);
  vandps(is_large, is_large, Constant(4, 0x80000000u));
  vxorps(out, out, is_large);
  vorps(out, out, other);
}

// Converts to integers of 64 bits. The multiples of 2^32 and the rest are the lower bits of numbers that are
// too large for fractions.
void Avx2Emitter::FloatToWideInteger(const Op& op) {
  constexpr int kAtLeast = 0x1d;
  const bool is_signed = native::IsSignedComputeType(compute_type(op.out));
  const Xmm a = Use(op.in[0]), out = Define(op.out);
  const Ymm x(kVectors), high(kVectors + 1), low(kVectors + 2);
  if (node(op.in[0]).width == 4)
    vcvtps2pd(x, Xmm(a.getIdx()));
  else
    vmovaps(x, Ymm(a.getIdx()));
  vcmppd(low, x, x, native::kOrdered);
  vandpd(x, x, low);
  vmaxpd(x, x, is_signed ? Constant(-0x1p63) : Constant(0.0));
  vroundpd(x, x, native::kTowardZero);
  vmulpd(high, x, Constant(0x1p-32));
  vroundpd(high, high, native::kDown);
  vmulpd(low, high, Constant(0x1p32));
  vsubpd(low, x, low);
  vaddpd(high, high, Constant(0x1.8p52));
  vaddpd(low, low, Constant(0x1p52));
  vpsllq(high, high, 32);
  vxorpd(low, low, Constant(0x1p52));
  vorpd(out, high, low);
  vcmppd(x, x, is_signed ? Constant(0x1p63) : Constant(0x1p64), kAtLeast);
  if (is_signed) vmovaps(low, Constant(8, ~uint64_t{0} >> 1));
  is_signed ? vblendvpd(out, out, low, x) : vorpd(out, out, x);
}

void Avx2Emitter::EmitToPred(const Op& op) {
  const ComputeType compute_type = nodes_[op.in[0]].compute_type;
  constexpr int kNotEqual = 4;
  const int width = nodes_[op.in[0]].width;
  const Xmm a = Use(op.in[0]);
  const Xmm mask = Register(Define(op.out).getIdx(), width), zero = Temporary(2, width);
  vpxor(zero, zero, zero);
  if (compute_type == ComputeType::kF32)
    vcmpps(mask, a, zero, kNotEqual);
  else if (compute_type == ComputeType::kF64)
    vcmppd(mask, a, zero, kNotEqual);
  else
    Compare(mask, a, zero, width, true, ComparisonDirection::kNe);
  WidenPredicate(mask, width);
}

void Avx2Emitter::EmitFromPred(const Op& op) {
  const int width = nodes_[op.out].width;
  const Xmm mask = PredicateOf(op.in[0], width);
  const Xmm out = Define(op.out);
  switch (compute_type(op.out)) {
    case ComputeType::kF32:
      return vandps(out, mask, Constant(1.0f));
    case ComputeType::kF64:
      return vandps(out, mask, Constant(1.0));
    default:
      break;
  }
  if (width == 8) return vandps(out, mask, Constant(8, 1));
  vandps(out, mask, Constant(4, width == 1 ? 0x01010101 : width == 2 ? 0x00010001 : 1));
}

}  // namespace hlo::cpu
