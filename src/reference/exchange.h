#pragma once
// Collectives between several devices (spmd 3). Each function returns the instruction's result as a vector of
// arrays, one per operand.

#include "reference/op.h"
#include "spmd/collectives.h"
#include "spmd/ragged_exchange.h"

namespace hlo::reference {

absl::StatusOr<spmd::Values> ReduceGroup(OpContext& context);         // all-reduce
absl::StatusOr<spmd::Values> ReduceToRoots(OpContext& context);       // collective-reduce
absl::StatusOr<spmd::Values> ReduceAndScatter(OpContext& context);    // reduce-scatter
absl::StatusOr<spmd::Values> GatherGroup(OpContext& context);         // all-gather
absl::StatusOr<spmd::Values> ExchangeParts(OpContext& context);       // all-to-all
absl::StatusOr<spmd::Values> BroadcastFromRoots(OpContext& context);  // collective-broadcast
absl::StatusOr<spmd::Values> ExchangeRows(OpContext& context);        // ragged-all-to-all
absl::StatusOr<spmd::Values> PermuteValues(OpContext& context);       // collective-permute

// Permutes on a single device, which is a target if it sends to itself.
absl::StatusOr<spmd::Values> PermuteWithinDevice(OpContext& context, bool is_target);

// Copies rows of `input` to `output`.
void CopyRows(const Literal& input, const spmd::RowMove& move, Literal& output);

// Returns a member of a ragged-all-to-all with these offsets and sizes, the last four operands.
absl::StatusOr<spmd::RaggedMember> RaggedMemberOf(absl::Span<const Literal> lists, int64_t input_rows,
                                                  int64_t output_rows);

}  // namespace hlo::reference
