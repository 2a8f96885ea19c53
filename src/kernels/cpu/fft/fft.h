#pragma once
// This file computes discrete Fourier transforms of any length over the last one to three dimensions
// (semantics 6.5).

#include "hlo_run/attribute.h"
#include "kernels/cpu/memory/dense_array.h"

namespace hlo::cpu {

// Returns true for c64 with f32 and c128 with f64, in the order that the kind of transform requires.
bool FftSupports(FftType type, ElementType input, ElementType output);

// Transforms a shape-checked input over its last `length.size()` dimensions.
void Fft(const DenseArray& input, FftType type, absl::Span<const int64_t> length, void* out,
         ElementType out_type, absl::Span<const int64_t> out_dims);

}  // namespace hlo::cpu
