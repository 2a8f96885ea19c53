#include "plan/gpu/peer_collectives.h"

#include <algorithm>
#include <vector>

#include "fmt/format.h"
#include "ir/combiners.h"
#include "kernels/cuda/vm/lower_loop.h"
#include "loops/loop_program.h"
#include "plan/codegen/operations.h"
#include "spmd/conversions.h"

namespace hlo::plan {
namespace {

std::optional<PeerCollective::Kind> KindOf(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
      return PeerCollective::Kind::kAllReduce;
    case Opcode::kReduceScatter:
      return PeerCollective::Kind::kReduceScatter;
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
      return PeerCollective::Kind::kAllGather;
    case Opcode::kAllToAll:
      return instruction.Get<attr::dimensions>().empty() ? PeerCollective::Kind::kAllToAllOperands
                                                         : PeerCollective::Kind::kAllToAll;
    case Opcode::kCollectiveBroadcast:
      return PeerCollective::Kind::kBroadcast;
    case Opcode::kRaggedAllToAll:
      return PeerCollective::Kind::kRaggedAllToAll;
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      return PeerCollective::Kind::kPermute;
    case Opcode::kSend:
      return PeerCollective::Kind::kSend;
    case Opcode::kSendDone:
      return PeerCollective::Kind::kSendDone;
    case Opcode::kRecv:
      return PeerCollective::Kind::kRecv;
    case Opcode::kRecvDone:
      return PeerCollective::Kind::kRecvDone;
    case Opcode::kCustomCall:
      if (spmd::IsShapeConversion(instruction)) return PeerCollective::Kind::kConvertShapes;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// True if the to_apply is one operation on its parameters, all of this type.
bool IsOperationOn(const Computation& to_apply, ElementType type) {
  const Instruction& root = *to_apply.root();
  return IsOnTwoParameters(root) && root.shape().IsScalar(type) && HasOperation(root) &&
         root.operand(0)->shape().IsScalar(type) && root.operand(1)->shape().IsScalar(type);
}

bool IsStaticArray(const Shape& shape) { return shape.IsArray() && !shape.HasDynamicDim(); }

// Returns the shape of the value that a send, recv or its done transfers.
const Shape& TransferredShape(const Instruction& transfer) {
  switch (transfer.opcode()) {
    case Opcode::kSend:
      return transfer.operand(0)->shape();
    case Opcode::kSendDone:
      return transfer.operand(0)->shape().element(0);
    default:
      return transfer.shape().element(0);
  }
}

std::string NameOf(const Instruction& instruction) {
  return fmt::format("{} between GPUs", Name(instruction.opcode()));
}

}  // namespace

std::optional<PeerCollective> FindPeerCollective(const Instruction& instruction) {
  const std::optional<PeerCollective::Kind> kind = KindOf(instruction);
  if (kind.has_value() && IsTransfer(*kind)) {
    if (instruction.Get<attr::is_host_transfer>() || !IsStaticArray(TransferredShape(instruction)))
      return std::nullopt;
    return PeerCollective{*kind, NameOf(instruction)};
  }
  if (!kind.has_value() || instruction.operand_count() == 0 || instruction.Get<attr::has_dynamic_root>() ||
      instruction.Has<attr::permute_slice_sizes>() ||
      (kind == PeerCollective::Kind::kAllToAll && instruction.operand_count() != 1))
    return std::nullopt;
  const Computation* to_apply = instruction.Get<attr::to_apply>();
  for (const Instruction* operand : instruction.operands()) {
    const Shape& shape = operand->shape();
    if (!IsStaticArray(shape)) return std::nullopt;
    if (to_apply != nullptr && !IsOperationOn(*to_apply, shape.type())) return std::nullopt;
  }
  return PeerCollective{*kind, NameOf(instruction),
                        instruction.opcode() == Opcode::kAllGatherStart ||
                            instruction.opcode() == Opcode::kCollectivePermuteStart};
}

absl::StatusOr<cuda::LoweredProgram> LowerFold(const Instruction& instruction, ElementType type,
                                               int64_t array_count, int64_t element_count,
                                               const device::DeviceProperties& device) {
  const Instruction& operation = *instruction.Get<attr::to_apply>()->root();
  const bool is_swapped = operation.operand(0)->Get<attr::number>() == 1;
  loops::LoopProgram program({}, {element_count});
  const auto access = [&](int64_t argument) {
    return loops::Access{
        .argument = static_cast<int32_t>(argument), .type = type, .outer = {}, .inner = {1}, .starts = {}};
  };
  loops::Value sum = program.Load(access(0));
  for (int64_t k = 1; k < array_count; ++k) {
    const loops::Value x = program.Load(access(k));
    sum = is_swapped ? ApplyInstruction(operation, {x, sum}, program)
                     : ApplyInstruction(operation, {sum, x}, program);
  }
  program.Store(sum, access(array_count));
  program.Finish();
  return cuda::LowerLoop(program, device);
}

}  // namespace hlo::plan
