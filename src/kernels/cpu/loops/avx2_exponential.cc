// This file emits functions of native loops with AVX2. Results have the same bits as those of
// vector_functions.h.

#include "kernels/cpu/loops/avx2_emitter.h"
#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu {

// Emits ExpF32, LogisticF32 and TanhF32 of vector_functions.h.
void Avx2Emitter::EmitExponential(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (op.operation->opcode == Opcode::kTanh) return EmitTanh(out, a);
  const bool is_logistic = op.operation->opcode == Opcode::kLogistic;
  is_logistic ? vxorps(out, a, Constant(4, 0x80000000u)) : vmovaps(out, a);
  const Xmm exponent = Temporary(0, 4), biased = Temporary(1, 4), smaller = Temporary(2, 4);
  ReduceExponent(out, biased);
  // Adding the exponent to that of 1 + t gives normal results only.
  constexpr int kLeast = -125, kMost = 127;
  vpsubd(biased, exponent, Constant(4, static_cast<uint32_t>(internal::kBitsOfToInteger + kLeast)));
  vpminud(smaller, biased, Constant(4, kMost - kLeast));
  vpcmpeqd(smaller, smaller, biased);
  vmovmskps(eax, smaller);
  cmp(eax, (1 << lanes_) - 1);
  Rare& rare = rare_.emplace_back();
  rare.out = out, rare.operand = a, rare.negates = is_logistic;
  jne(rare.begin, T_NEAR);
  vaddps(out, out, Constant(1.0f));
  vpslld(exponent, exponent, 23);
  vpaddd(out, out, exponent);
  L(rare.end);
  if (!is_logistic) return;
  vaddps(out, out, Constant(1.0f));
  vmovaps(exponent, Constant(1.0f));
  vdivps(out, exponent, out);
}

void Avx2Emitter::EmitTanh(const Xmm& out, const Xmm& a) {
  // The instructions for extremes return the second operand for NaN.
  const Xmm first = Temporary(0, 4), second = Temporary(1, 4);
  vandps(out, a, Constant(4, 0x7fffffff));
  Splat(first, 10.0f);
  vminps(out, first, out);
  vmulps(out, out, Constant(-2.0f));
  ReduceExponent(out, second);
  vpsubd(first, first, Constant(4, internal::kBitsOfToInteger - 127));
  vpslld(first, first, 23);
  vsubps(second, first, Constant(1.0f));
  vfmadd213ps(out, first, second);
  vaddps(first, out, Constant(2.0f));
  vdivps(out, out, first);
  vandps(out, out, Constant(4, 0x7fffffff));
  vandps(first, a, Constant(4, 0x80000000u));
  vorps(out, out, first);
}

void Avx2Emitter::EmitRareCode() {
  const Xmm exponent = Temporary(0, 4), is_small = Temporary(1, 4), power = Temporary(2, 4);
  for (Rare& rare : rare_) {
    const Xmm& out = rare.out;
    L(rare.begin);
    rare.negates ? vxorps(out, rare.operand, Constant(4, 0x80000000u)) : vmovaps(out, rare.operand);
    Splat(exponent, internal::kMostExponent);
    vminps(out, exponent, out);
    Splat(exponent, internal::kLeastExponent);
    vmaxps(out, exponent, out);
    ReduceExponent(out, is_small);
    vaddps(out, out, Constant(1.0f));
    vpsubd(exponent, exponent, Constant(4, static_cast<uint32_t>(internal::kBitsOfToInteger)));
    // Results that may be subnormal are computed as integers. The exponent of a NaN has any value.
    Splat(is_small, 4, static_cast<uint32_t>(-125));
    vpcmpgtd(is_small, is_small, exponent);
    vcmpps(power, out, out, native::kOrdered);
    vandps(is_small, is_small, power);
    vandps(power, is_small, Constant(4, internal::kSubnormalShift));
    vpaddd(exponent, exponent, power);
    // Multiplies by two powers of two, because their product may exceed the range.
    vpsrad(power, exponent, 1);
    vpsubd(exponent, exponent, power);
    for (const Xmm& each : {power, exponent}) {
      vpaddd(each, each, Constant(4, 127));
      vpslld(each, each, 23);
      vmulps(out, out, each);
    }
    vcvtps2dq(power, out);
    vblendvps(out, out, power, is_small);
    jmp(rare.end, T_NEAR);
  }
}

}  // namespace hlo::cpu
