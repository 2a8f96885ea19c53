#pragma once
// This file sorts lines with an arbitrary comparator.

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/line_chunks.h"

namespace hlo::cpu {

// Computes the permutation of a bottom-up merge sort with comparator `before` (a of array 0, b of array 0, a
// of array 1, ...). It is deterministic even if the comparator is not an order. elements[k] is array k in its
// compute type of widths[k] bytes, `chunks` are those of the line, and `order` has the line's length. Returns
// DeadlineExceeded once this thread's deadline has passed.
absl::Status MergeOrder(const TileCode& before, absl::Span<const std::byte* const> elements,
                        absl::Span<const int64_t> widths, const LineChunks& chunks,
                        CachedVector<uint32_t>* order);

}  // namespace hlo::cpu
