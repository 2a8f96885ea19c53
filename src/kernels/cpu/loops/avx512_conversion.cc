// This file emits conversions of native loops with AVX-512. Results have the same bits as those of
// tile_ops.h.

#include <bit>

#include "kernels/cpu/loops/avx512_emitter.h"
#include "kernels/cpu/loops/native_instructions.h"

namespace hlo::cpu {

// Rounds in place. A NaN whose lower half is zero stays as it is if `keeps_nans`.
void Avx512Emitter::RoundToBF16(const Xmm& value, bool keeps_nans) {
  const Xmm sum = Temporary(0, 4);
  vptestmd(k1, value, Constant(4, 0x10000));
  vpaddd(sum, value, Constant(4, 0x7fff));
  vpaddd(sum | k1, value, Constant(4, 0x8000));
  if (keeps_nans) return vpandd(value, sum, Constant(4, 0xffff0000u));
  vcmpps(k2, value, value, native::kOrdered);
  vpandd(value, value, Constant(4, 0x80000000u));
  vpord(value, value, Constant(4, 0x7fc00000u));
  vpandd(value | k2, sum, Constant(4, 0xffff0000u));
}

// Extends or truncates integers. `out` may be `from`.
void Avx512Emitter::Resize(const Xmm& out, int to_width, const Xmm& from, int from_width, bool is_signed) {
  if (to_width > from_width) return Extend(out, to_width, from, from_width, is_signed);
  switch (from_width * 16 + to_width) {
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
void Avx512Emitter::EmitConvert(const Op& op) {
  const ComputeType from = compute_type(op.in[0]), to = compute_type(op.out);
  const int from_width = nodes_[op.in[0]].width, to_width = nodes_[op.out].width;
  const bool is_signed = native::IsSignedComputeType(from);
  Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (!native::IsFloatComputeType(to)) return Resize(out, to_width, a, from_width, is_signed);
  if (from == ComputeType::kF32) return vcvtps2pd(out, a);
  if (from == ComputeType::kF64) return vcvtpd2ps(out, a);
  const bool to_double = to == ComputeType::kF64;
  if (from_width == 8) {
    if (is_signed) return to_double ? vcvtqq2pd(out, a) : vcvtqq2ps(out, a);
    return to_double ? vcvtuqq2pd(out, a) : vcvtuqq2ps(out, a);
  }
  if (from == ComputeType::kU32) return to_double ? vcvtudq2pd(out, a) : vcvtudq2ps(out, a);
  if (from_width < 4) {
    const Xmm wide = Temporary(0, 4);
    Resize(wide, 4, a, from_width, is_signed);
    a = wide;
  }
  to_double ? vcvtdq2pd(out, a) : vcvtdq2ps(out, a);
}

// Emits conversions that truncate and saturate; NaN gives 0.
void Avx512Emitter::EmitFloatToInteger(const Op& op) {
  constexpr int kAtLeast = 0x1d;
  const bool wide = compute_type(op.in[0]) == ComputeType::kF64;
  const ComputeType to = compute_type(op.out);
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
    const double high = static_cast<double>((1 << (native::IsSignedComputeType(to) ? bits - 1 : bits)) - 1);
    const double low = native::IsSignedComputeType(to) ? -high - 1 : 0;
    const Xmm words = Temporary(1, 4);
    compare(a, native::kOrdered);
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
  if (!native::IsSignedComputeType(to)) {
    // The instructions return the second operand for NaN, and all ones for numbers that are too large.
    vpxord(zero, zero, zero);
    wide ? vmaxpd(clamped, a, zero) : vmaxps(clamped, a, zero);
    if (to_width == 4) return wide ? vcvttpd2udq(out, clamped) : vcvttps2udq(out, clamped);
    return wide ? vcvttpd2uqq(out, clamped) : vcvttps2uqq(out, clamped);
  }
  if (to_width == 4) {
    wide ? vcvttpd2dq(out, a) : vcvttps2dq(out, a);
    compare(number(2147483647.0), kAtLeast);
    Splat(out | k1, 4, 0x7fffffff);
  } else {
    wide ? vcvttpd2qq(out, a) : vcvttps2qq(out, a);
    compare(number(0x1p63), kAtLeast);
    Splat(out | k1, 8, ~uint64_t{0} >> 1);
  }
  compare(a, native::kOrdered);
  to_width == 4 ? vmovdqa32(out | k1 | T_z, out) : vmovdqa64(out | k1 | T_z, out);
}

void Avx512Emitter::EmitToPred(const Op& op) {
  const ComputeType compute_type = nodes_[op.in[0]].compute_type;
  const Xmm a = Use(op.in[0]);
  const Opmask out = DefineMask(op.out);
  const Xmm zero = Temporary(0, nodes_[op.in[0]].width);
  constexpr int kNotEqual = 4;
  switch (ComputeTypeBytes(compute_type)) {
    case 1:
      return vptestmb(out, a, a);
    case 2:
      return vptestmw(out, a, a);
    case 4:
      if (compute_type != ComputeType::kF32) return vptestmd(out, a, a);
      vpxord(zero, zero, zero);
      return vcmpps(out, a, zero, kNotEqual);
    default:
      if (compute_type != ComputeType::kF64) return vptestmq(out, a, a);
      vpxord(zero, zero, zero);
      return vcmppd(out, a, zero, kNotEqual);
  }
}

void Avx512Emitter::EmitFromPred(const Op& op) {
  const Opmask mask = UseMask(op.in[0]);
  const Xmm out = Define(op.out) | mask | T_z;
  switch (compute_type(op.out)) {
    case ComputeType::kF32:
      return Splat(out, 1.0f);
    case ComputeType::kF64:
      return Splat(out, 8, std::bit_cast<uint64_t>(1.0));
    default:
      break;
  }
  switch (nodes_[op.out].width) {
    case 1:
      return vmovdqu8(out, BlockAddress(kOnes));
    case 2:
      return vpbroadcastw(out, word[rip + constants_[{8, 1}]]);
    case 4:
      return Splat(out, 4, 1);
    default:
      return Splat(out, 8, 1);
  }
}

}  // namespace hlo::cpu
