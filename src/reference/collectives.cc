// Collectives of a single device, where every group has one member (semantics 8.4).

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/obstacles.h"
#include "reference/op.h"

namespace hlo::reference {
namespace {

// Every group that is written down has one member.
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

// The operands as the result: themselves, or as a tuple where there are several.
Literal Together(absl::Span<Literal> operands) {
  if (operands.size() == 1) return std::move(operands[0]);
  return Literal::Tuple({std::make_move_iterator(operands.begin()), std::make_move_iterator(operands.end())});
}

bool SendsToItself(const Instruction& instruction) {
  const IntLists pairs = instruction.Get<attr::source_target_pairs>();
  return std::any_of(pairs.begin(), pairs.end(), [](IntList pair) { return pair[0] == 0 && pair[1] == 0; });
}

// (operands, results, contexts...)
absl::StatusOr<Literal> Started(OpContext& context, Literal result) {
  std::vector<Literal> parts = {Together(context.operands), std::move(result)};
  for (size_t i = 2; i < context.shape().elements().size(); ++i) {
    HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(context.shape().element(i)));
    parts.push_back(std::move(zeros));
  }
  return Literal::Tuple(std::move(parts));
}

absl::StatusOr<Literal> Permuted(OpContext& context, const Shape& shape) {
  if (!SendsToItself(context.instruction)) return Literal::CreateZeros(shape);
  std::vector<Literal> kept(context.operands.begin(), context.operands.end());
  return Together(absl::MakeSpan(kept));
}

}  // namespace

std::string CollectiveObstacle(const Instruction& instruction) {
  const ModuleHeader& header = instruction.parent()->module()->header();
  if (header.replica_count > 1 || header.num_partitions > 1) {
    return fmt::format("needs {} replicas and {} partitions; this build evaluates one device",
                       header.replica_count, header.num_partitions);
  }
  const ReplicaGroups* groups = instruction.Get<attr::replica_groups>();
  if (groups != nullptr && !HasSingleGroups(*groups))
    return "its groups have several devices; this build evaluates one";
  for (IntList pair : instruction.Get<attr::source_target_pairs>()) {
    if (pair[0] != 0 || pair[1] != 0) return "its pairs name several devices; this build evaluates one";
  }
  if (instruction.opcode() == Opcode::kCollectivePermute ||
      instruction.opcode() == Opcode::kCollectivePermuteStart) {
    if (instruction.operand_count() > 1)
      return "permutes of slices within arrays are not evaluated by this build";
  }
  return "";
}

// What arrives from the only member of the group is what it gave.
absl::StatusOr<Literal> AllReduce(OpContext& context) { return Together(context.operands); }
absl::StatusOr<Literal> AllGather(OpContext& context) { return Together(context.operands); }
absl::StatusOr<Literal> ReduceScatter(OpContext& context) { return Together(context.operands); }
// Without dimensions the result is a tuple, of one element, too.
absl::StatusOr<Literal> AllToAll(OpContext& context) {
  Literal result = Together(context.operands);
  if (!context.shape().IsTuple() || result.shape().IsTuple()) return result;
  return Literal::Tuple({std::move(result)});
}
absl::StatusOr<Literal> CollectiveBroadcast(OpContext& context) { return Together(context.operands); }
absl::StatusOr<Literal> CollectiveReduce(OpContext& context) { return Together(context.operands); }

// The operand where device 0 sends to itself; zeros where nobody sends to it.
absl::StatusOr<Literal> CollectivePermute(OpContext& context) { return Permuted(context, context.shape()); }

// all-reduce-start has the value of the result, the others the pair of operands and results.
absl::StatusOr<Literal> AllReduceStart(OpContext& context) { return Together(context.operands); }
absl::StatusOr<Literal> AllReduceDone(OpContext& context) { return std::move(context.operands[0]); }

absl::StatusOr<Literal> AllGatherStart(OpContext& context) {
  std::vector<Literal> kept(context.operands.begin(), context.operands.end());
  return Started(context, Together(absl::MakeSpan(kept)));
}
absl::StatusOr<Literal> AllGatherDone(OpContext& context) {
  return std::move(context.operands[0].mutable_elements()[1]);
}

absl::StatusOr<Literal> CollectivePermuteStart(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Permuted(context, context.shape().element(1)));
  return Started(context, std::move(result));
}
absl::StatusOr<Literal> CollectivePermuteDone(OpContext& context) {
  return std::move(context.operands[0].mutable_elements()[1]);
}

}  // namespace hlo::reference
