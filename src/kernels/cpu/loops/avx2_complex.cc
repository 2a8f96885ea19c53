// This file emits complex numbers of native loops with AVX2.

#include "kernels/cpu/loops/avx2_emitter.h"
#include "kernels/cpu/loops/native_instructions.h"

namespace hlo::cpu {

using Xbyak::Ymm;

// Instructions take elements of both halves of their operands.
void Avx2Emitter::Deinterleave(const Xmm& to, const Address& lower, const Address& upper, bool imaginary) {
  const Ymm vector(kVectors), out(to.getIdx());
  vmovups(vector, lower);
  if (component_bytes_ == 8)
    imaginary ? vunpckhpd(out, vector, upper) : vunpcklpd(out, vector, upper);
  else
    vshufps(out, vector, upper, imaginary ? 0xdd : 0x88);
  vpermpd(out, out, 0xd8);
}

void Avx2Emitter::LoadComponent(const Xmm& to, const Node& node) {
  const auto at = [&](int displacement) { return Memory(node.input, 2 * component_bytes_, displacement); };
  const bool is_imaginary = node.component == 1;
  if (!masked_) {
    const Address lower = at(0), upper = at(kBytes);  // Both are relative to the same registers.
    return Deinterleave(to, lower, upper, is_imaginary);
  }
  const Ymm mask(kVectors + 2);
  for (const bool upper : {false, true}) {
    vmovups(mask, PairMask(upper));
    vmaskmovps(mask, mask, at(upper ? kBytes : 0));
    vmovups(Slot(copies_, upper ? kBytes : 0), mask);
  }
  Deinterleave(to, Slot(copies_), Slot(copies_, kBytes), is_imaginary);
}

void Avx2Emitter::Interleave(const Xmm& to, const Xmm& real, const Xmm& imaginary, bool upper) {
  const Ymm high(kVectors + 1), out(to.getIdx());
  if (component_bytes_ == 8) {
    vunpcklpd(out, real, imaginary);
    vunpckhpd(high, real, imaginary);
  } else {
    vunpcklps(out, real, imaginary);
    vunpckhps(high, real, imaginary);
  }
  vperm2f128(out, out, high, upper ? 0x31 : 0x20);
}

void Avx2Emitter::StorePair(int pointer, Value value) {
  const Xmm real = Use(value), imaginary = Use(Imaginary(value));
  const Ymm vector(kVectors), mask(kVectors + 2);
  for (const bool upper : {false, true}) {
    Interleave(vector, real, imaginary, upper);
    const Address to = Memory(pointer, 2 * component_bytes_, upper ? kBytes : 0);
    if (masked_) vmovups(mask, PairMask(upper));
    masked_ ? vmaskmovps(to, mask, vector) : vmovups(to, vector);
  }
}

// Emits ComplexQuotient. The two halves of the vectors are divided in f64.
void Avx2Emitter::EmitQuotient(const Op& op) {
  Use(op.in[0]), Use(op.in[1]);
  const Xmm c = Use(op.in[2]), d = Use(op.in[3]);
  const Xmm real = Define(op.out), imaginary = Define(op.imaginary);
  const uint32_t locked = locked_;
  Xmm own[4];
  for (Xmm& each : own) {
    const int reg = Allocate(vectors_, 0);
    locked_ |= 1u << reg;
    each = Ymm(reg);
  }
  const auto& [signs, first, second, third] = own;
  const Xmm size_of_c = Temporary(0, 4), size_of_d = Temporary(1, 4), is_less = size_of_c;
  vandps(size_of_c, c, Constant(4, 0x7fffffff));
  vandps(size_of_d, d, Constant(4, 0x7fffffff));
  vcmpps(is_less, size_of_c, size_of_d, native::kLess);
  vblendvps(signs, c, d, is_less);
  vandps(signs, signs, Constant(4, 0x80000000u));
  const Xmm scratch[] = {first, second, third};
  DivideHalf(op, signs, scratch, false);
  DivideHalf(op, signs, scratch, true);
  for (const Xmm& part : {real, imaginary}) vxorps(part, part, signs);
  locked_ = locked;
  const Ymm is_nan(kVectors);
  vcmpps(is_nan, real, imaginary, native::kUnordered);
  if (masked_) vandps(is_nan, is_nan, TailMask(4));
  Recovery& recovery = NewRecovery(op);
  vptest(is_nan, is_nan);
  jnz(recovery.begin, T_NEAR);
  L(recovery.end);
}

// Computes the lower or upper half of the results. Lanes of operands and results change by these signs.
void Avx2Emitter::DivideHalf(const Op& op, const Xmm& signs, const Xmm (&scratch)[3], bool upper) {
  const Ymm c(kVectors), d(kVectors + 1), norm(kVectors + 2);
  const Ymm a(scratch[0].getIdx()), b(scratch[1].getIdx()), quotient(scratch[2].getIdx());
  const auto widen = [&](const Ymm& to, const Xmm& from) {
    const Xmm half(upper ? to.getIdx() : from.getIdx());
    if (upper) vextractf128(half, Ymm(from.getIdx()), 1);
    vcvtps2pd(to, half);
  };
  const auto put = [&](const Xmm& out, const Ymm& wide) {
    const Xmm narrow(upper ? wide.getIdx() : out.getIdx());
    vcvtpd2ps(narrow, wide);
    if (upper) vinsertf128(Ymm(out.getIdx()), Ymm(out.getIdx()), narrow, 1);
  };
  vxorps(a, Use(op.in[0]), signs);
  vxorps(b, Use(op.in[1]), signs);
  widen(a, a);
  widen(b, b);
  widen(c, Use(op.in[2]));
  widen(d, Use(op.in[3]));
  DividePairs({a, b, c, d}, quotient, norm);
  put(Register(node(op.out).reg, 4), quotient);
  put(Register(node(op.imaginary).reg, 4), b);
}

void Avx2Emitter::JumpUnlessRecoverable(Recovery& recovery) {
  const Ymm is_nan(kVectors), first(kVectors + 1), second(kVectors + 2);
  for (int k = 0; k < 2; ++k) {
    const Ymm real(recovery.RegisterOf(2 * k)), imaginary(recovery.RegisterOf(2 * k + 1));
    vcmpps(first, real, real, native::kUnordered);
    vcmpps(second, imaginary, imaginary, native::kUnordered);
    vandps(first, first, second);
    vandnps(is_nan, first, is_nan);
  }
  vptest(is_nan, is_nan);
  jz(recovery.end, T_NEAR);
}

}  // namespace hlo::cpu
