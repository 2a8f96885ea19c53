// This file emits functions of native loops with AVX-512. Results have the same bits as those of
// vector_functions.h.

#include "kernels/cpu/loops/avx512_emitter.h"
#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu {

// Emits ExpF32, LogisticF32 and TanhF32 of vector_functions.h.
void Avx512Emitter::EmitExponential(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (op.operation->opcode == Opcode::kTanh) {
    vpandd(out, a, Constant(4, 0x7fffffff));
    NegatedTanh(out);
    return vpternlogd(out, a, Constant(4, 0x80000000u), 0xd8);  // The sign of the operand.
  }
  const bool is_logistic = op.operation->opcode == Opcode::kLogistic;
  const Xmm first = Temporary(0, 4), second = Temporary(1, 4);
  if (is_logistic) vpxord(out, a, Constant(4, 0x80000000u));
  // The instructions for extremes return the second operand for NaN.
  Splat(first, internal::kMostExponent);
  vminps(out, first, is_logistic ? out : a);
  Splat(first, internal::kLeastExponent);
  vmaxps(out, first, out);
  const Opmask may_be_subnormal = k1;
  constexpr uint8_t kLess = 1;
  vcmpps(may_be_subnormal, out, Constant(internal::kSubnormalFrom), kLess);
  ReduceExponent(out, first);
  vaddps(out, out, Constant(1.0f));
  vaddps(second | may_be_subnormal, second, Constant(static_cast<float>(internal::kSubnormalShift)));
  vscalefps(out, out, second);
  vcvtps2dq(out | may_be_subnormal, out);
  if (!is_logistic) return;
  vaddps(out, out, Constant(1.0f));
  Splat(first, 1.0f);
  vdivps(out, first, out);
}

void Avx512Emitter::SplitFloat(const Xmm& spare, const Xmm& x) {
  const Xmm m = Temporary(0, 4), n = Temporary(1, 4);
  constexpr uint8_t kFromThreeQuarters = 3, kLess = 1;
  static_assert(internal::kLeastOfLog == 0.75f);
  vgetmantps(m, x, kFromThreeQuarters);
  vgetexpps(n, x);
  vpxord(spare, spare, spare);
  vsubps(n, spare, n);
  vcmpps(k1, m, Constant(1.0f), kLess);
  vsubps(n | k1, n, Constant(1.0f));
}

void Avx512Emitter::FinishLogarithm(const Xmm& result, const Xmm& x) {
  // The results for NaNs, zero, one, the infinities, negative and positive numbers, from the lowest digit on.
  // They are: 0, the result; 2, the operand as a quiet NaN; 3, a NaN; 4 and 5, the infinities.
  constexpr uint32_t kResults = 0x03530422;
  vfixupimmps(result, x, Constant(4, kResults), 0);
}

}  // namespace hlo::cpu
