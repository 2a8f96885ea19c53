// This file emits the part of exponential functions that instruction sets share.

#include "absl/types/span.h"
#include "kernels/cpu/loops/native_emitter.h"
#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu {

// Emits internal::SplitExp of vector_functions.h: replaces x by t, with k in temporary register 0, plus a
// constant, and in register 1, as a float. The function may use `square`, which is one of the two.
void NativeEmitter::ReduceExponent(const Xmm& x, const Xmm& square) {
  const Xmm shifted = Temporary(0, 4), n = Temporary(1, 4), q = Temporary(2, 4);
  Splat(shifted, internal::kToInteger);
  vfmadd231ps(shifted, x, Constant(internal::kLog2OfE));
  vsubps(n, shifted, Constant(internal::kToInteger));
  for (const float part : internal::kNegatedLn2) vfmadd231ps(x, n, Constant(part));
  Splat(q, internal::kExpTerms[0]);
  for (const float term : absl::MakeConstSpan(internal::kExpTerms).subspan(1))
    vfmadd213ps(q, x, Constant(term));
  vmulps(square, x, x);
  vfmadd231ps(x, square, q);
}

// Replaces x >= 0 by -tanh(x).
void NativeEmitter::NegatedTanh(const Xmm& x) {
  const Xmm first = Temporary(0, 4), second = Temporary(1, 4);
  // The instruction for the minimum returns its second operand for NaN.
  Splat(first, 10.0f);
  vminps(x, first, x);
  vmulps(x, x, Constant(-2.0f));
  ReduceExponent(x, second);
  vpsubd(first, first, Constant(4, internal::kBitsOfToInteger - 127));
  vpslld(first, first, 23);
  vsubps(second, first, Constant(1.0f));
  vfmadd213ps(x, first, second);
  vaddps(first, x, Constant(2.0f));
  vdivps(x, x, first);
}

}  // namespace hlo::cpu
