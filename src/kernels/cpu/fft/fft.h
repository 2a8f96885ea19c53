#pragma once
// Discrete Fourier transforms of any length over the last one to three dimensions (semantics 6.5).

#include "hlo_run/attribute.h"
#include "kernels/cpu/memory/dense_array.h"

namespace hlo::cpu {

// c64 and f32, or c128 and f64; which of them stands where follows from the kind of transform.
bool FftSupports(FftType type, ElementType input, ElementType output);

// out = the transform of input over its last `length.size()` dimensions; the checker has found sizes and
// types to fit together.
void Fft(const DenseArray& input, FftType type, absl::Span<const int64_t> length, void* out,
         ElementType out_type, absl::Span<const int64_t> out_dims);

}  // namespace hlo::cpu
