#pragma once
// This file computes discrete Fourier transforms of any length over the last one to three dimensions
// (semantics 6.5).

#include "hlo_run/attribute.h"
#include "kernels/cpu/memory/dense_array.h"

namespace hlo::cpu {

// Transforms a shape-checked input over its last `length.size()` dimensions: f32 and c64, or f64 and c128
// (FftKeepsPrecision).
void Fft(const DenseArray& input, FftType type, absl::Span<const int64_t> length, void* out,
         ElementType out_type, absl::Span<const int64_t> out_dims);

// Returns the bytes that Fft allocates during a call, besides tables and scratch vectors that are cached.
int64_t FftMemory(absl::Span<const int64_t> in_dims, FftType type, int64_t rank, ElementType out_type,
                  absl::Span<const int64_t> out_dims);

}  // namespace hlo::cpu
