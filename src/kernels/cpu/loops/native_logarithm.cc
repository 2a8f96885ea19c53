// This file emits logarithms of native loops. Results have the same bits as those of vector_functions.h.

#include "absl/types/span.h"
#include "kernels/cpu/loops/native_emitter.h"
#include "kernels/cpu/simd/vector_functions.h"

namespace hlo::cpu {

// Emits LogF32 and LogPlusOneF32 of vector_functions.h.
void NativeEmitter::EmitLogarithm(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  const Xmm f = Temporary(0, 4), n = Temporary(1, 4), square = Temporary(2, 4);
  const bool adds_one = op.operation->opcode == Opcode::kLogPlusOne;
  if (adds_one) {
    SplitSumWithOne(out, a);
  } else {
    SplitFloat(out, a);
    vsubps(f, f, Constant(1.0f));
  }
  Splat(out, internal::kLogTerms[0]);
  for (const float term : absl::MakeConstSpan(internal::kLogTerms).subspan(1))
    vfmadd213ps(out, f, Constant(term));
  vmulps(square, f, f);
  vfmadd213ps(out, square, f);
  for (const float part : internal::kLn2) vfmadd231ps(out, n, Constant(-part));
  if (adds_one) vaddps(f, a, Constant(1.0f));
  FinishLogarithm(out, adds_one ? f : a);
}

// Sets temporary register 0 to f and register 1 to -n, for 1 + x = (1 + f) * 2^n.
void NativeEmitter::SplitSumWithOne(const Xmm& spare, const Xmm& x) {
  const Xmm sum = spare, first = Temporary(0, 4), second = Temporary(1, 4), error = Temporary(2, 4);
  vaddps(sum, x, Constant(1.0f));
  vsubps(first, sum, Constant(1.0f));
  vsubps(error, x, first);
  vsubps(first, sum, first);
  vsubps(first, first, Constant(1.0f));
  vsubps(error, error, first);
  Splat(first, 4, internal::kBitsOfLeastOfLog + internal::kMantissaBits);
  vpsubd(first, first, sum);
  vpsrad(first, first, internal::kMantissaWidth);
  vpslld(second, first, internal::kMantissaWidth);
  const Xmm m = sum;
  vpaddd(m, sum, second);
  vpaddd(second, second, Constant(4, internal::kBitsOfOne));
  vpmaxsd(second, second, Constant(4, 0));
  vmulps(error, error, second);
  vcvtdq2ps(second, first);
  Splat(first, 1.0f);
  vsubps(first, first, m);
  vsubps(first, error, first);
}

}  // namespace hlo::cpu
