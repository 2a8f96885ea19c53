// This file emits functions of native loops. Results have the same bits as those of vector_functions.h.

#include <bit>

#include "kernels/cpu/loops/native_emitter.h"
#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu {

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
  const Opmask may_be_subnormal = k1;
  constexpr uint8_t kLess = 1;
  vcmpps(may_be_subnormal, out, number(internal::kSubnormalFrom), kLess);
  ReduceExponent(out, first);
  vaddps(out, out, number(1.0f));
  vaddps(second | may_be_subnormal, second, number(static_cast<float>(internal::kSubnormalShift)));
  vscalefps(out, out, second);
  vcvtps2dq(out | may_be_subnormal, out);
  if (!is_logistic) return;
  vaddps(out, out, number(1.0f));
  splat(first, 1.0f);
  vdivps(out, first, out);
}

}  // namespace hlo::cpu
