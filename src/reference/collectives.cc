// Collectives. On a single device every group has one member (semantics 8.4); exchange.h implements them for
// several devices.

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/device_groups.h"
#include "reference/arrays.h"
#include "reference/exchange.h"
#include "reference/obstacles.h"
#include "reference/op.h"
#include "spmd/device_grid.h"

namespace hlo::reference {
namespace {

// True if every explicit group has one member.
bool HasSingleGroups(const ReplicaGroups& groups) {
  switch (groups.form) {
    case ReplicaGroups::Form::kList:
      return std::all_of(groups.groups.begin(), groups.groups.end(), [](IntList g) { return g.size() <= 1; });
    case ReplicaGroups::Form::kIota:
      return groups.iota->dims.size() == 2 && groups.iota->dims[1] == 1;
    case ReplicaGroups::Form::kMesh:
      return groups.axes.empty();
  }
  return false;
}

// Returns the operand, or the tuple of several operands.
Literal AsTuple(absl::Span<Literal> operands) {
  if (operands.size() == 1) return std::move(operands[0]);
  return Literal::Tuple({std::make_move_iterator(operands.begin()), std::make_move_iterator(operands.end())});
}

bool SendsToItself(const Instruction& instruction) {
  const IntLists pairs = instruction.Get<attr::source_target_pairs>();
  return std::any_of(pairs.begin(), pairs.end(), [](IntList pair) { return pair[0] == 0 && pair[1] == 0; });
}

// Returns the value, or the tuple of several values.
absl::StatusOr<Literal> AsTuple(absl::StatusOr<spmd::Values> values) {
  if (!values.ok()) return values.status();
  return AsTuple(absl::MakeSpan(*values));
}

bool HasPeers(const OpContext& context) { return context.caller.collectives() != nullptr; }

// Returns (operands, results, contexts...).
absl::StatusOr<Literal> Started(OpContext& context, Literal result) {
  std::vector<Literal> parts = {AsTuple(context.operands), std::move(result)};
  for (size_t i = 2; i < context.shape().elements().size(); ++i) {
    HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(context.shape().element(i)));
    parts.push_back(std::move(zeros));
  }
  return Literal::Tuple(std::move(parts));
}

// With has_dynamic_root the last operand contains positions in the group, of which there is one.
absl::StatusOr<Literal> FromRoot(OpContext& context) {
  if (!context.instruction.Get<attr::has_dynamic_root>()) return AsTuple(context.operands);
  HLO_ASSIGN_OR_RETURN(const Literal roots, AsIndices(context.operands.back()));
  for (const int64_t root : roots.span<int64_t>()) {
    if (root == 0) continue;
    return absl::FailedPreconditionError(
        fmt::format("the root is number {} of its group, which has one member", root));
  }
  return AsTuple(context.operands.first(context.operands.size() - 1));
}

absl::StatusOr<Literal> Permuted(OpContext& context) {
  return AsTuple(HasPeers(context) ? PermuteValues(context)
                                   : PermuteWithinDevice(context, SendsToItself(context.instruction)));
}

// Returns why a ragged-all-to-all cannot run; "" if it can.
std::string RaggedUnsupportedReason(const Instruction& instruction, bool has_peers) {
  if (instruction.operand_count() != 6) return "takes six operands";
  const Shape &input = instruction.operand(0)->shape(), &output = instruction.operand(1)->shape();
  const bool same_rows = input.IsArray(output.type()) && input.rank() > 0 && input.rank() == output.rank() &&
                         input.dims().subspan(1) == output.dims().subspan(1);
  if (!same_rows) return fmt::format("moves rows of {} into {}", ToString(input), ToString(output));
  for (int64_t k = 2; k < 6; ++k) {
    const Shape& list = instruction.operand(k)->shape();
    if (!list.IsArray() || !IsIntegral(list.type()) || list.dims() != instruction.operand(2)->shape().dims())
      return fmt::format("operand {} is {}; offsets and sizes are integer arrays of one shape", k,
                         ToString(list));
    if (!has_peers && list.rank() == 2 && list.dim(0) != 1)
      return fmt::format("operand {} is {}, for {} devices; the run has one", k, ToString(list), list.dim(0));
  }
  return "";
}

}  // namespace

namespace {

// Appends the array shapes in a shape in depth-first order.
void AppendArrays(const Shape& shape, std::vector<const Shape*>* arrays) {
  if (!shape.IsTuple()) return arrays->push_back(&shape);
  for (const Shape& element : shape.elements()) AppendArrays(element, arrays);
}

// Returns the result shape of a collective, or of the done that completes a start.
const Shape& ResultOf(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const bool holds_operands = opcode == Opcode::kAllGatherStart || opcode == Opcode::kCollectivePermuteStart;
  return holds_operands && instruction.shape().IsTuple() && instruction.shape().elements().size() > 1
             ? instruction.shape().element(1)
             : instruction.shape();
}

// Operands are returned, possibly as another float type, only if groups have one member.
std::string GroupSizeUnsupportedReason(const Instruction& instruction) {
  std::vector<const Shape*> results, operands;
  AppendArrays(ResultOf(instruction), &results);
  for (const Instruction* operand : instruction.operands()) AppendArrays(operand->shape(), &operands);
  if (instruction.Get<attr::has_dynamic_root>()) operands.pop_back();
  for (size_t i = 0; i < std::min(results.size(), operands.size()); ++i) {
    if (CompatibleIgnoringFpPrecision(*results[i], *operands[i])) continue;
    const int64_t given = operands[i]->ElementCount().value_or(0),
                  made = results[i]->ElementCount().value_or(0);
    const int64_t larger = std::max(given, made), smaller = std::min(given, made);
    const bool counts = smaller > 0 && larger % smaller == 0 && larger > smaller;
    return fmt::format("makes {} of {}, so its group has {} devices; the run has one", ToString(*results[i]),
                       ToString(*operands[i]), counts ? fmt::format("{}", larger / smaller) : "several");
  }
  return results.size() == operands.size() ? ""
                                           : fmt::format(
                                                 "makes {} arrays of {}, so its group has several devices; "
                                                 "the run has one",
                                                 results.size(), operands.size());
}

bool IsDone(Opcode opcode) {
  return opcode == Opcode::kAllReduceDone || opcode == Opcode::kAllGatherDone ||
         opcode == Opcode::kCollectivePermuteDone;
}

std::string PermuteUnsupportedReason(const Instruction& instruction) {
  if (!instruction.Has<attr::permute_slice_sizes>()) return "";
  const bool is_simple =
      instruction.Get<attr::permute_slice_sizes>().size() == 1 && instruction.operand_count() == 4 &&
      instruction.operand(0)->shape().IsArray() && instruction.operand(1)->shape().IsArray() &&
      instruction.operand(2)->shape().IsTuple() && !instruction.operand(2)->shape().element(0).IsTuple();
  return is_simple ? "" : "permutes of several slices are not evaluated by this build";
}

// Returns why a collective of several devices cannot run; "" if it can. Executable::Make checks its groups.
std::string PeersUnsupportedReason(const Instruction& instruction) {
  if (spmd::IsPermute(instruction.opcode())) return PermuteUnsupportedReason(instruction);
  return instruction.opcode() == Opcode::kRaggedAllToAll
             ? RaggedUnsupportedReason(instruction, /*has_peers=*/true)
             : "";
}

}  // namespace

std::string CollectiveUnsupportedReason(const Instruction& instruction) {
  if (instruction.Get<attr::has_dynamic_root>() &&
      (instruction.operand_count() < 2 ||
       !IsIntegral(instruction.operand(instruction.operand_count() - 1)->shape().type()))) {
    return "with has_dynamic_root its last operand is an array of positions in the group";
  }
  if (spmd::HasSeveralDevices(*instruction.parent()->module())) return PeersUnsupportedReason(instruction);
  const ReplicaGroups* groups = instruction.Get<attr::replica_groups>();
  if (groups != nullptr && !HasSingleGroups(*groups))
    return "its groups have several devices; the run has one";
  if (instruction.opcode() == Opcode::kRaggedAllToAll)
    return RaggedUnsupportedReason(instruction, /*has_peers=*/false);
  for (IntList pair : instruction.Get<attr::source_target_pairs>()) {
    if (pair[0] != 0 || pair[1] != 0) return "its pairs name several devices; the run has one";
  }
  const Opcode opcode = instruction.opcode();
  if (spmd::IsPermute(opcode)) return PermuteUnsupportedReason(instruction);
  if (spmd::IsDeviceId(opcode) || IsDone(opcode)) return "";
  return GroupSizeUnsupportedReason(instruction);
}

// The result starts as the operand `output`; then rows input_offsets[u], ..., input_offsets[u] +
// send_sizes[u] - 1 of `input` are copied to output_offsets[u] on.
absl::StatusOr<Literal> RaggedAllToAll(OpContext& context) {
  if (HasPeers(context)) return AsTuple(ExchangeRows(context));
  const Literal input = context.operands[0];
  Literal output = std::move(context.operands[1]);
  HLO_ASSIGN_OR_RETURN(
      const spmd::RaggedMember own,
      RaggedMemberOf(absl::MakeConstSpan(context.operands).subspan(2), input.dim(0), output.dim(0)));
  HLO_RETURN_IF_ERROR(output.MakeUnique());
  for (size_t u = 0; u < own.send_sizes.size(); ++u) {
    const spmd::RowMove move{0, 0, own.input_offsets[u], own.send_sizes[u], own.output_offsets[u]};
    if (move.count != own.receive_sizes[u]) {
      return absl::FailedPreconditionError(fmt::format("update {} sends {}, but its receiver expects {}", u,
                                                       Counted(move.count, "row"), own.receive_sizes[u]));
    }
    HLO_RETURN_IF_ERROR(spmd::CheckRows(move, own.input_rows, own.output_rows, u));
    CopyRows(input, move, output);
  }
  return output;
}

// Shapes are not checked against groups of one device, so the sizes of the result may be wrong.
absl::StatusOr<Literal> WithDeclaredSizes(const OpContext& context, absl::StatusOr<Literal> result) {
  if (!result.ok()) return result;
  std::vector<const Shape*> declared, made;
  AppendArrays(ResultOf(context.instruction), &declared);
  AppendArrays(result->shape(), &made);
  for (size_t i = 0; i < std::min(declared.size(), made.size()); ++i) {
    if (declared[i]->ElementCount() != made[i]->ElementCount())
      return absl::FailedPreconditionError(
          fmt::format("the value is {}, which is not the declared shape", ToString(*made[i])));
  }
  return result;
}

// On a single device the only member of the group receives its own operand.
absl::StatusOr<Literal> AllReduce(OpContext& context) {
  return HasPeers(context) ? AsTuple(ReduceGroup(context)) : AsTuple(context.operands);
}
absl::StatusOr<Literal> AllGather(OpContext& context) {
  return HasPeers(context) ? WithDeclaredSizes(context, AsTuple(GatherGroup(context)))
                           : AsTuple(context.operands);
}
absl::StatusOr<Literal> ReduceScatter(OpContext& context) {
  return HasPeers(context) ? WithDeclaredSizes(context, AsTuple(ReduceAndScatter(context)))
                           : AsTuple(context.operands);
}
// Without dimensions, the result is a tuple, even for a single operand.
absl::StatusOr<Literal> AllToAll(OpContext& context) {
  absl::StatusOr<Literal> result =
      HasPeers(context) ? AsTuple(ExchangeParts(context)) : AsTuple(context.operands);
  if (!result.ok() || !context.shape().IsTuple() || result->shape().IsTuple()) return result;
  return Literal::Tuple({*std::move(result)});
}
absl::StatusOr<Literal> CollectiveBroadcast(OpContext& context) {
  return HasPeers(context) ? AsTuple(BroadcastFromRoots(context)) : FromRoot(context);
}
absl::StatusOr<Literal> CollectiveReduce(OpContext& context) {
  return HasPeers(context) ? AsTuple(ReduceToRoots(context)) : FromRoot(context);
}

absl::StatusOr<Literal> CollectivePermute(OpContext& context) { return Permuted(context); }

// all-reduce-start returns the result, the others the pair of operands and results.
absl::StatusOr<Literal> AllReduceStart(OpContext& context) { return AllReduce(context); }
absl::StatusOr<Literal> AllReduceDone(OpContext& context) { return std::move(context.operands[0]); }

absl::StatusOr<Literal> AllGatherStart(OpContext& context) {
  std::vector<Literal> kept(context.operands.begin(), context.operands.end());
  HLO_ASSIGN_OR_RETURN(Literal result, AllGather(context));
  std::move(kept.begin(), kept.end(), context.operands.begin());
  return Started(context, std::move(result));
}
absl::StatusOr<Literal> AllGatherDone(OpContext& context) {
  return std::move(context.operands[0].mutable_elements()[1]);
}

absl::StatusOr<Literal> CollectivePermuteStart(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Permuted(context));
  // With slices the pair is that of input and output.
  if (context.instruction.Has<attr::permute_slice_sizes>()) context.operands = context.operands.first(1);
  return Started(context, std::move(result));
}
absl::StatusOr<Literal> CollectivePermuteDone(OpContext& context) {
  return std::move(context.operands[0].mutable_elements()[1]);
}

}  // namespace hlo::reference
