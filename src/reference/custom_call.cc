// Custom calls whose target is known (semantics 9).

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/obstacles.h"
#include "reference/op.h"
#include "reference/sort.h"

namespace hlo::reference {
namespace {

using Obstacle = std::string (*)(const Instruction& instruction);

struct Target {
  std::string_view name;
  Obstacle obstacle;
  ReferenceOp op;
};

const Shape& ArrayOf(const Shape& shape) { return shape.IsBuffer() ? shape.element(0) : shape; }

std::string NoObstacle(const Instruction&) { return ""; }

std::string OtherShape(const Instruction& instruction) {
  const std::string_view target = instruction.Get<attr::custom_call_target>();
  if (instruction.operand_count() == 0) return fmt::format("'{}' has no operand", target);
  const Shape& operand = instruction.operand(0)->shape();
  if (Compatible(ArrayOf(operand), ArrayOf(instruction.shape()))) return "";
  return fmt::format("'{}' of {} gives {}; with one device it keeps the shape", target, ToString(operand),
                     ToString(instruction.shape()));
}

// Operand 0.
absl::StatusOr<Literal> Identity(OpContext& context) { return std::move(context.operands[0]); }
absl::StatusOr<Literal> Zeros(OpContext& context) { return Literal::CreateZeros(context.shape()); }

std::string NotTopK(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  const bool fits =
      instruction.operand_count() == 1 && instruction.operand(0)->shape().IsArray() &&
      instruction.operand(0)->shape().rank() > 0 && shape.IsTuple() && shape.elements().size() == 2 &&
      shape.element(0).IsArray(instruction.operand(0)->shape().type()) &&
      shape.element(1).IsArray(ElementType::kS32) && SameDimensions(shape.element(0), shape.element(1)) &&
      shape.element(0).rank() == instruction.operand(0)->shape().rank() &&
      instruction.called_computations().size() == 1 &&
      instruction.called_computations()[0]->parameters().size() >= 2;
  return fits ? "" : "TopK takes an array and gives its largest elements and their s32 positions";
}

// clang-format off
constexpr Target kTargets[] = {
    {"Sharding",                              OtherShape, Identity},
    {"xla.sdy.FuncResultSharding",            OtherShape, Identity},
    {"xla.sdy.PropagationBarrier",            OtherShape, Identity},
    {"xla.sdy.GlobalToLocalShape",            OtherShape, Identity},
    {"xla.sdy.LocalToGlobalShape",            OtherShape, Identity},
    {"xla.sdy.ShardingGroup",                 NoObstacle, Zeros},
    {"SPMDFullToShardShape",                  OtherShape, Identity},
    {"SPMDShardToFullShape",                  OtherShape, Identity},
    {"CustomSPMDPartitioning",                OtherShape, Identity},
    {"LayoutConstraint",                      OtherShape, Identity},
    {"ShardBarrierFrom",                      OtherShape, Identity},
    {"ShardBarrierTo",                        OtherShape, Identity},
    {"MoveToHost",                            OtherShape, Identity},
    {"MoveToDevice",                          OtherShape, Identity},
    {"PinToDevice",                           OtherShape, Identity},
    {"PinToDeviceSram",                       OtherShape, Identity},
    {"annotate_device_placement",             OtherShape, Identity},
    {"AssumeGatherIndicesInBound",            OtherShape, Identity},
    {"GatherScatterIndicesBitpacked",         OtherShape, Identity},
    {"__xla_internal_call_marker_before",     OtherShape, Identity},
    {"__xla_internal_call_marker_after",      OtherShape, Identity},
    {"Pin",                                   OtherShape, Identity},
    {"Unpin",                                 OtherShape, Identity},
    {"AllocateBuffer",                        NoObstacle, Zeros},
    {"CreateBuffer",                          NoObstacle, Zeros},
    {"NopReturnToken",                        NoObstacle, Zeros},
    {"TopK",                                  NotTopK,    TopkByComparator},
    {"__gpu$TopK",                            NotTopK,    TopkByComparator},
};
// clang-format on

const Target* Find(std::string_view name) {
  const auto* const end = std::end(kTargets);
  const auto* const found =
      std::find_if(std::begin(kTargets), end, [&](const Target& t) { return t.name == name; });
  return found == end ? nullptr : found;
}

}  // namespace

std::string CustomCallObstacle(const Instruction& instruction) {
  const std::string_view name = instruction.Get<attr::custom_call_target>();
  const Target* target = Find(name);
  return target == nullptr ? fmt::format("the target '{}' is not evaluated by this build", name)
                           : target->obstacle(instruction);
}

absl::StatusOr<Literal> CustomCall(OpContext& context) {
  const Target* target = Find(context.instruction.Get<attr::custom_call_target>());
  HLO_CHECK(target != nullptr);
  return target->op(context);
}

}  // namespace hlo::reference
