#pragma once
// Plans sorts of lines by keys: launches and workspace.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/stream.h"
#include "hlo_run/shape.h"
#include "kernels/cuda/sort/match_sort_keys.h"
#include "kernels/cuda/sort/sort_body.h"

namespace hlo::cuda {

struct SortPlan {
  SortLines lines;
  // Sources in descending significance; groups that fit into 64 bits form one key. `operands` are the operand
  // indices of the sources.
  std::vector<KeySource> sources;
  std::vector<int64_t> operands;
  bool in_blocks = false;  // Each line is sorted in shared memory.
  bool may_be_unordered = false;
  int64_t count() const { return static_cast<int64_t>(lines.count) * lines.length; }
  int64_t workspace_bytes() const;
};

// The array must be non-empty and have fewer than 2^31 elements.
SortLines LinesAlong(absl::Span<const int64_t> dims, int64_t dimension);

// Plans the sort of arrays with these dimensions and element types. Returns nullopt if they are too large or
// have too many keys.
std::optional<SortPlan> PlanSort(absl::Span<const int64_t> dims, int64_t dimension,
                                 absl::Span<const SortKey> keys, absl::Span<const ElementType> types);

// Enqueues the sort. Returns the device array that will hold the permutation: the sorted element numbers of
// each line.
absl::StatusOr<const uint32_t*> EnqueueOrder(const SortPlan& plan, absl::Span<const void* const> operands,
                                             void* workspace, device::Stream stream);

// Permutes the operands, whose elements have these byte widths, into the results.
absl::Status Permute(const SortLines& lines, const uint32_t* order, absl::Span<const int64_t> widths,
                     absl::Span<const void* const> operands, absl::Span<void* const> results,
                     device::Stream stream);
// Stores the first `kept` elements of each sorted line and their original positions in it.
absl::Status TakeFirst(const SortLines& lines, const uint32_t* order, int64_t kept, int64_t width,
                       const void* operand, absl::Span<void* const> results, device::Stream stream);

inline LaunchShape OneThreadEach(int64_t count) {
  return {{static_cast<uint32_t>((count + kSortThreads - 1) / kSortThreads)}, kSortThreads};
}

}  // namespace hlo::cuda
