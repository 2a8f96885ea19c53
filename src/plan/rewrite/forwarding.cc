#include "plan/rewrite/forwarding.h"

#include <algorithm>

#include "reference/obstacles.h"
#include "spmd/device_grid.h"

namespace hlo::plan {
namespace {

using Sources = std::vector<LeafSource>;

// Collects the sources of the leaves of an instruction's result, in order.
class SourceCollector {
 public:
  explicit SourceCollector(const Instruction& instruction) : instruction_(instruction) {}

  SourceCollector& Operand(int64_t operand) {
    return Range(operand, 0, instruction_.operand(operand)->shape().LeafCount());
  }
  SourceCollector& AllOperands() {
    for (int64_t i = 0; i < instruction_.operand_count(); ++i) Operand(i);
    return *this;
  }
  // Adds an element of the first operand, a tuple.
  SourceCollector& Element(int64_t index) {
    const Shape& tuple = instruction_.operand(0)->shape();
    int64_t first = 0;
    for (int64_t i = 0; i < index; ++i) first += tuple.element(i).LeafCount();
    return Range(0, first, tuple.element(index).LeafCount());
  }
  // Adds zeros up to the last leaf of the result.
  SourceCollector& Zeros() {
    sources_.resize(std::max<size_t>(sources_.size(), instruction_.shape().LeafCount()));
    return *this;
  }
  // Returns nullopt if the number of leaves differs from the result's.
  std::optional<Sources> Done() {
    if (static_cast<int64_t>(sources_.size()) != instruction_.shape().LeafCount()) return std::nullopt;
    return std::move(sources_);
  }

 private:
  SourceCollector& Range(int64_t operand, int64_t first, int64_t count) {
    for (int64_t leaf = first; leaf < first + count; ++leaf) sources_.push_back({operand, leaf});
    return *this;
  }

  const Instruction& instruction_;
  Sources sources_;
};

bool SendsToItself(const Instruction& permute) {
  const IntLists pairs = permute.Get<attr::source_target_pairs>();
  return std::any_of(pairs.begin(), pairs.end(), [](IntList pair) { return pair[0] == 0 && pair[1] == 0; });
}

bool IsIdentityCall(const Instruction& call, const CustomCalls* custom_calls) {
  const std::string_view target = call.Get<attr::custom_call_target>();
  const bool is_user_call = custom_calls != nullptr && (custom_calls->FindModule(target) != nullptr ||
                                                        custom_calls->FindFunction(target));
  return !is_user_call && reference::IsIdentityCall(call);
}

bool HasStaticShapes(const Instruction& instruction) {
  const auto operands = instruction.operands();
  return !instruction.shape().HasDynamicDim() &&
         std::none_of(operands.begin(), operands.end(),
                      [](const Instruction* operand) { return operand->shape().HasDynamicDim(); });
}

// True if the result is the operand.
bool IsIdentityOf(const Instruction& instruction, int64_t operand) {
  return SameDimensions(instruction.operand(operand)->shape(), instruction.shape()) &&
         HasStaticShapes(instruction);
}

bool HasNoPadding(const Instruction& pad) {
  const auto padding = pad.Get<attr::padding>();
  return std::all_of(padding.begin(), padding.end(),
                     [](const auto& p) { return p.low == 0 && p.high == 0 && p.interior == 0; });
}

// Lines of at most one element are sorted.
bool SortsSingleElements(const Instruction& sort) {
  return HasStaticShapes(sort) && sort.operand(0)->shape().dim(sort.Get<attr::dimensions>()[0]) <= 1;
}

// Collectives of a single device forward their operands (semantics 8.4). With several devices only those that
// complete another one do.
std::optional<Sources> ForwardedByCollective(const Instruction& instruction) {
  if (spmd::HasSeveralDevices(*instruction.parent()->module()) && spmd::DependsOnDevices(instruction))
    return std::nullopt;
  if (!reference::CollectiveUnsupportedReason(instruction).empty()) return std::nullopt;
  if (instruction.Has<attr::permute_slice_sizes>()) return std::nullopt;
  SourceCollector result(instruction);
  switch (instruction.opcode()) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceDone:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kReduceScatter:
      return result.AllOperands().Done();
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
      if (instruction.Get<attr::has_dynamic_root>()) return std::nullopt;
      return result.AllOperands().Done();
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
      return result.Element(1).Done();
    case Opcode::kAllGatherStart:
      return result.AllOperands().AllOperands().Zeros().Done();
    case Opcode::kCollectivePermute:
      return (SendsToItself(instruction) ? result.AllOperands() : result.Zeros()).Done();
    case Opcode::kCollectivePermuteStart:
      result.AllOperands();
      if (SendsToItself(instruction)) result.AllOperands();
      return result.Zeros().Done();
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return result.Zeros().Done();
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Sources> ForwardedLeaves(const Instruction& instruction, const CustomCalls* custom_calls) {
  SourceCollector result(instruction);
  switch (instruction.opcode()) {
    case Opcode::kTuple:
      return result.AllOperands().Done();
    case Opcode::kGetTupleElement:
      return result.Element(instruction.Get<attr::index>()).Done();
    case Opcode::kAddDependency:
    case Opcode::kDomain:
    case Opcode::kOptBarrier:
      return result.Operand(0).Done();
    case Opcode::kAfterAll:
      return result.Zeros().Done();
    case Opcode::kAsyncDone:
      return result.Element(1).Done();
    case Opcode::kCopyStart:  // The result is (destination, source, context).
      return result.Operand(0).Operand(0).Zeros().Done();
    case Opcode::kCopyDone:
      return result.Element(0).Done();
    case Opcode::kCustomCall:
      return IsIdentityCall(instruction, custom_calls) ? result.Operand(0).Done() : std::nullopt;
    case Opcode::kConcatenate:
    case Opcode::kDynamicSlice:
    case Opcode::kReshape:
    case Opcode::kSlice:
      return IsIdentityOf(instruction, 0) ? result.Operand(0).Done() : std::nullopt;
    case Opcode::kPad:
      return IsIdentityOf(instruction, 0) && HasNoPadding(instruction) ? result.Operand(0).Done()
                                                                       : std::nullopt;
    case Opcode::kDynamicUpdateSlice:
      return IsIdentityOf(instruction, 1) ? result.Operand(1).Done() : std::nullopt;
    case Opcode::kSort:
      return SortsSingleElements(instruction) ? result.AllOperands().Done() : std::nullopt;
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return ForwardedByCollective(instruction);
    default:
      return Info(instruction.opcode()).has(kCollective) ? ForwardedByCollective(instruction) : std::nullopt;
  }
}

}  // namespace hlo::plan
