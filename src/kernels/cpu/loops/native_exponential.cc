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

}  // namespace hlo::cpu
