#pragma once
// Assigns offsets in one arena to live ranges, so that those that overlap in time do not overlap in memory.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace hlo::plan {

struct LiveRange {
  int64_t begin, end;  // The first and the last position at which the value is live.
  int64_t byte_count;
};

struct OffsetAssignment {
  // An offset for each live range, aligned to its size rounded up to a power of two, at most 64.
  std::vector<int64_t> offsets;
  int64_t byte_count = 0;
};

// Returns the better one of two greedy assignments.
OffsetAssignment AssignOffsets(absl::Span<const LiveRange> live_ranges);

}  // namespace hlo::plan
