// Control flow, tuples and device ids (semantics 8.1, 8.2, 8.4).

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "reference/op.h"
#include "spmd/collectives.h"

namespace hlo::reference {

// Evaluates the computation with the operands as arguments.
absl::StatusOr<Literal> Call(OpContext& context) {
  return context.caller.Call(*context.instruction.Get<attr::to_apply>(), context.operands);
}
absl::StatusOr<Literal> Fusion(OpContext& context) {
  return context.caller.Call(*context.instruction.Get<attr::calls>(), context.operands);
}

namespace {
// The reference to the state ends with this call, so that the body can update the state in place.
absl::StatusOr<bool> EvaluateCondition(Caller& caller, const Computation& condition, Literal state) {
  HLO_ASSIGN_OR_RETURN(const Literal holds, caller.Call(condition, absl::MakeSpan(&state, 1)));
  return holds.span<bool>()[0];
}
}  // namespace

// while condition(state): state = body(state)
absl::StatusOr<Literal> While(OpContext& context) {
  const Computation& condition = *context.instruction.Get<attr::condition>();
  const Computation& body = *context.instruction.Get<attr::body>();
  Literal state = std::move(context.operands[0]);
  while (true) {
    HLO_ASSIGN_OR_RETURN(const bool proceed, EvaluateCondition(context.caller, condition, state));
    if (!proceed) return state;
    HLO_ASSIGN_OR_RETURN(state, context.caller.Call(body, absl::MakeSpan(&state, 1)));
  }
}

// A pred selects the first branch if true and the second if false. An s32 selects by index; an index out of
// range selects the last branch.
absl::StatusOr<Literal> Conditional(OpContext& context) {
  const auto branches = context.instruction.called_computations();
  const Literal& choice = context.operands[0];
  const auto last = static_cast<int64_t>(branches.size()) - 1;
  int64_t branch = 0;
  if (choice.type() == ElementType::kPred) {
    branch = choice.span<bool>()[0] ? 0 : 1;
  } else {
    const int32_t index = choice.span<int32_t>()[0];
    branch = index < 0 || index > last ? last : index;
  }
  return context.caller.Call(*branches[std::min(branch, last)], context.operands.subspan(1 + branch, 1));
}

absl::StatusOr<Literal> Parameter(OpContext&) {
  return absl::InternalError("a parameter's value comes from its computation's caller");
}

absl::StatusOr<Literal> Constant(OpContext& context) {
  if (context.instruction.is_elided()) return Literal::CreateZeros(context.shape());
  return *context.instruction.Get<attr::literal>();
}

absl::StatusOr<Literal> Tuple(OpContext& context) {
  std::vector<Literal> elements(std::make_move_iterator(context.operands.begin()),
                                std::make_move_iterator(context.operands.end()));
  return Literal::Tuple(std::move(elements));
}

absl::StatusOr<Literal> GetTupleElement(OpContext& context) {
  return std::move(context.operands[0].mutable_elements()[context.instruction.Get<attr::index>()]);
}

// Returns the first operand.
absl::StatusOr<Literal> OptBarrier(OpContext& context) { return std::move(context.operands[0]); }
absl::StatusOr<Literal> AddDependency(OpContext& context) { return std::move(context.operands[0]); }
absl::StatusOr<Literal> Domain(OpContext& context) { return std::move(context.operands[0]); }

absl::StatusOr<Literal> AfterAll(OpContext&) { return Literal::Token(); }

namespace {
absl::StatusOr<Literal> DeviceNumber(OpContext& context, int64_t (spmd::DeviceGrid::*number)(int64_t) const) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::CreateZeros(context.shape()));
  const spmd::Collectives* collectives = context.caller.collectives();
  if (collectives != nullptr)
    result.mutable_span<uint32_t>()[0] =
        static_cast<uint32_t>((collectives->grid().*number)(collectives->device()));
  return result;
}
}  // namespace

// A single device is partition 0 of replica 0.
absl::StatusOr<Literal> PartitionId(OpContext& context) {
  return DeviceNumber(context, &spmd::DeviceGrid::partition);
}
absl::StatusOr<Literal> ReplicaId(OpContext& context) {
  return DeviceNumber(context, &spmd::DeviceGrid::replica);
}

}  // namespace hlo::reference
