#pragma once
// The rows that the members of a group exchange in a ragged-all-to-all (spmd 3.7).

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace hlo::spmd {

// The lists of a member, with an entry for each peer and update, and the rows of its arrays.
struct RaggedMember {
  std::vector<int64_t> input_offsets, send_sizes, output_offsets, receive_sizes;
  int64_t input_rows = 0, output_rows = 0;
};

// Rows that go from the input of the member `source` to the output of `target`.
struct RowMove {
  size_t source = 0, target = 0;
  int64_t from = 0, count = 0, to = 0;
};

struct RaggedExchange {
  std::vector<RowMove> moves;  // Later ones overwrite earlier ones.
  int64_t overlaps = 0;        // Number of moves that begin in rows of another one.
};

// Returns FailedPrecondition if rows are out of bounds, or if the members do not agree.
absl::StatusOr<RaggedExchange> RaggedExchangeOf(absl::Span<const RaggedMember> members);

// Returns FailedPrecondition if the rows of an update are out of bounds.
absl::Status CheckRows(const RowMove& move, int64_t input_rows, int64_t output_rows, size_t update);

}  // namespace hlo::spmd
