// This file emits functions of native loops with AVX2. Results have the same bits as those of
// vector_functions.h.

#include <limits>

#include "kernels/cpu/loops/avx2_emitter.h"
#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu {

// Emits ExpF32, LogisticF32 and TanhF32 of vector_functions.h.
void Avx2Emitter::EmitExponential(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (op.operation->opcode == Opcode::kTanh) return EmitTanh(out, a);
  const bool is_logistic = op.operation->opcode == Opcode::kLogistic;
  const Xmm exponent = Temporary(0, 4), is_small = Temporary(1, 4), other = Temporary(2, 4);
  if (is_logistic) vxorps(out, a, Constant(4, 0x80000000u));
  // The instructions for extremes return the second operand for NaN.
  vmovaps(exponent, Constant(internal::kMostExponent));
  vminps(out, exponent, is_logistic ? out : a);
  vmovaps(exponent, Constant(internal::kLeastExponent));
  vmaxps(out, exponent, out);
  ReduceExponent(out, is_small);
  vaddps(out, out, Constant(1.0f));
  vaddps(out, out, out);
  // Results below 2^-125 are computed as integers, whose bits they are. One factor is doubled and the other
  // one halved, because the power of two may exceed the range.
  constexpr float kSmall = 86.8f;
  constexpr int kLess = 0x11, kGreater = 0x1e, kHalvedBias = 126;
  is_logistic ? vcmpps(is_small, a, Constant(kSmall), kGreater)
              : vcmpps(is_small, a, Constant(-kSmall), kLess);
  vandps(other, is_small, Constant(4, internal::kSubnormalShift));
  vpaddd(exponent, exponent, other);
  vpaddd(exponent, exponent, Constant(4, kHalvedBias));  // The shift discards the bits of kToInteger.
  vpslld(exponent, exponent, 23);
  vmulps(out, out, exponent);
  vcvtps2dq(other, out);
  vblendvps(out, out, other, is_small);
  if (!is_logistic) return;
  vaddps(out, out, Constant(1.0f));
  vmovaps(exponent, Constant(1.0f));
  vdivps(out, exponent, out);
}

void Avx2Emitter::EmitTanh(const Xmm& out, const Xmm& a) {
  const Xmm sign = Temporary(0, 4);
  vandps(out, a, Constant(4, 0x7fffffff));
  NegatedTanh(out);
  vandps(out, out, Constant(4, 0x7fffffff));
  vandps(sign, a, Constant(4, 0x80000000u));
  vorps(out, out, sign);
}

void Avx2Emitter::SplitFloat(const Xmm& spare, const Xmm& x) {
  const Xmm scaled = Temporary(0, 4), added = Temporary(1, 4), exponent = Temporary(2, 4);
  constexpr int kLess = 0x11;
  constexpr float kScale = 1 << internal::kMantissaWidth;
  vcmpps(added, x, Constant(std::numeric_limits<float>::min()), kLess);
  vmulps(scaled, x, Constant(kScale));
  vblendvps(scaled, x, scaled, added);
  vandps(added, added, Constant(static_cast<float>(internal::kMantissaWidth)));
  Splat(exponent, 4, internal::kBitsOfLeastOfLog + internal::kMantissaBits);
  vpsubd(exponent, exponent, scaled);
  vpsrad(exponent, exponent, internal::kMantissaWidth);
  vpslld(spare, exponent, internal::kMantissaWidth);
  vpaddd(scaled, scaled, spare);
  vcvtdq2ps(exponent, exponent);
  vaddps(added, exponent, added);
}

void Avx2Emitter::FinishLogarithm(const Xmm& result, const Xmm& x) {
  const Xmm mask = Temporary(1, 4), other = Temporary(2, 4);
  constexpr int kEqual = 0, kLess = 0x11;
  vxorps(mask, mask, mask);
  vcmpps(other, x, mask, kEqual);
  vcmpps(mask, mask, x, kLess);
  vandps(other, other, Constant(4, internal::kBitsOfNaN ^ internal::kBitsOfNegativeInfinity));
  vxorps(other, other, Constant(4, internal::kBitsOfNaN));
  vblendvps(result, other, result, mask);
  vcmpps(mask, x, Constant(std::numeric_limits<float>::infinity()), kLess);
  vaddps(other, x, x);
  vblendvps(result, other, result, mask);
}

}  // namespace hlo::cpu
