#pragma once
// Sorts of lines by a comparator: any code that compares two elements.

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/pieces.h"

namespace hlo::cpu {

// The positions of a line's elements as merges of neighbouring runs of doubling length order them, which take
// the right one where `before` (a of array 0, b of array 0, a of array 1, ...) says so: the same permutation
// whatever it answers. elements[k]: array k in its lanes of widths[k] bytes; `pieces` are those of the line,
// and `order` is as long as it. DeadlineExceeded once this thread's time is over.
absl::Status MergeOrder(const TileCode& before, absl::Span<const std::byte* const> elements,
                        absl::Span<const int64_t> widths, const Pieces& pieces, KeptVector<uint32_t>* order);

}  // namespace hlo::cpu
