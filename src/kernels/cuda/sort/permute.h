#pragma once
// Launches the kernels that apply permutations of lines.

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/arithmetic.h"
#include "device/stream.h"
#include "kernels/cuda/sort/permute_body.h"

namespace hlo::cuda {

// The lines of an array along a dimension. The array must be non-empty and have fewer than 2^31 elements.
SortLines LinesAlong(absl::Span<const int64_t> dims, int64_t dimension);

// Permutes the operand, whose elements have this byte width, into the result. Does nothing if *only_if is 0.
absl::Status Permute(const SortLines& lines, const uint32_t* order, int64_t width, const void* operand,
                     void* result, device::Stream stream, const uint32_t* only_if = nullptr);
// Stores the first `kept` elements of each sorted line and their original positions in it.
absl::Status TakeFirst(const SortLines& lines, const uint32_t* order, int64_t kept, int64_t width,
                       const void* operand, absl::Span<void* const> results, device::Stream stream);

inline LaunchShape OneThreadEach(int64_t count) {
  return {{static_cast<uint32_t>(CeilDiv(count, kSortThreads))}, kSortThreads};
}

}  // namespace hlo::cuda
