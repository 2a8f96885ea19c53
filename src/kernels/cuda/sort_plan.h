#pragma once
// The order of lines by keys: which launches, in which memory.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/stream.h"
#include "hlo_run/shape.h"
#include "kernels/cuda/find_sort_keys.h"
#include "kernels/cuda/sort_body.h"

namespace hlo::cuda {

struct SortPlan {
  SortLines lines;
  // Highest first; groups that fit into 64 bits count as one key. Indices of operands stand in `operands`.
  std::vector<KeySource> sources;
  std::vector<int64_t> operands;
  bool in_blocks = false;  // Each line in shared memory.
  bool may_be_unordered = false;
  int64_t count() const { return static_cast<int64_t>(lines.count) * lines.length; }
  int64_t workspace_bytes() const;
};

// Of an array that is not empty, of fewer than 2^31 elements.
SortLines LinesAlong(absl::Span<const int64_t> dims, int64_t dimension);

// Of arrays of these dimensions; nullopt where they are too large, or keys too many. `types` are the
// operands'.
std::optional<SortPlan> PlanSort(absl::Span<const int64_t> dims, int64_t dimension,
                                 absl::Span<const SortKey> keys, absl::Span<const ElementType> types);

// Enqueues; gives where the order will stand: of the elements by lines, those of each line in their order.
absl::StatusOr<const uint32_t*> EnqueueOrder(const SortPlan& plan, absl::Span<const void* const> operands,
                                             void* workspace, device::Stream stream);

// results[k] are operands[k] in the order, elements of these widths.
absl::Status Permute(const SortLines& lines, const uint32_t* order, absl::Span<const int64_t> widths,
                     absl::Span<const void* const> operands, absl::Span<void* const> results,
                     device::Stream stream);
// The first `kept` elements of each line, and where they stood in it.
absl::Status TakeFirst(const SortLines& lines, const uint32_t* order, int64_t kept, int64_t width,
                       const void* operand, absl::Span<void* const> results, device::Stream stream);

inline LaunchShape OneThreadEach(int64_t count) {
  return {{static_cast<uint32_t>((count + kSortThreads - 1) / kSortThreads)}, kSortThreads};
}

}  // namespace hlo::cuda
