#pragma once
// Plans sorts of lines by keys: method, launches and workspace.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/stream.h"
#include "hlo_run/shape.h"
#include "kernels/cuda/sort/match_sort_keys.h"
#include "kernels/cuda/sort/sort_keys_body.h"

namespace hlo::cuda {

enum class SortMethod : uint8_t {
  kNetwork,   // Short lines in shared memory.
  kInBlocks,  // A line in a thread block.
  kSweeps,    // Radix sort with one sweep over global memory for each digit.
};

struct SortPlan {
  SortLines lines;
  // Sources in descending significance; groups that fit into 64 bits form one key. `operands` are the operand
  // indices of the sources.
  std::vector<KeySource> sources;
  std::vector<int64_t> operands;
  std::vector<int64_t> widths;  // Bytes of the elements of all operands.
  SortMethod method = SortMethod::kNetwork;
  bool may_be_unordered = false;
  bool is_topk = false;
  int64_t kept = 0;  // Elements of a sorted line that are stored.
  int64_t count() const { return static_cast<int64_t>(lines.count) * lines.length; }
  int64_t workspace_bytes() const;
};

// Plans the sort of arrays with these dimensions and element types. Returns nullopt if they are too large or
// have too many keys.
std::optional<SortPlan> PlanSort(absl::Span<const int64_t> dims, int64_t dimension,
                                 absl::Span<const SortKey> keys, absl::Span<const ElementType> types);

// Plans a topk of one operand along its last dimension: the first `kept` elements of each sorted line and
// their original positions in it.
std::optional<SortPlan> PlanTopk(absl::Span<const int64_t> dims, const SortKey& key, ElementType type,
                                 int64_t kept);

absl::Status EnqueueSort(const SortPlan& plan, absl::Span<const void* const> operands,
                         absl::Span<void* const> results, void* workspace, device::Stream stream);

}  // namespace hlo::cuda
