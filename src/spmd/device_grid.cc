#include "spmd/device_grid.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/device_groups.h"
#include "spmd/conversions.h"
#include "spmd/entry_shards.h"
#include "spmd/exchange_groups.h"

namespace hlo::spmd {
namespace {

constexpr int64_t kMaxDevices = 65536;

// Returns 1 + the largest id in groups or pairs; 0 without any.
int64_t IdCount(const Instruction& instruction) {
  int64_t count = 0;
  const auto add = [&](int64_t id) { count = std::max(count, id < kMaxDevices ? id + 1 : kMaxDevices + 1); };
  if (const ReplicaGroups* groups = instruction.Get<attr::replica_groups>()) {
    for (const std::vector<int64_t>& group : ExpandGroups(*groups))
      std::for_each(group.begin(), group.end(), add);
  }
  for (const IntList pair : instruction.Get<attr::source_target_pairs>())
    std::for_each(pair.begin(), pair.end(), add);
  if (const auto pairs = TransferPairs(instruction); pairs.ok()) {
    for (const auto& [source, target] : *pairs) add(std::max(source, target));
  }
  return count;
}

// Returns the size of the group of a collective without groups as its shapes imply it; 1 if they do not.
int64_t ImpliedGroupSize(const Instruction& instruction) {
  const ReplicaGroups* groups = instruction.Get<attr::replica_groups>();
  if (instruction.operand_count() == 0 || (groups != nullptr && !hlo::ExpandGroups(*groups).empty()))
    return 1;
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kAllToAll && instruction.shape().IsTuple()) return instruction.operand_count();
  const bool gathers = opcode == Opcode::kAllGather || opcode == Opcode::kAllGatherStart;
  if ((!gathers && opcode != Opcode::kReduceScatter) || instruction.Get<attr::dimensions>().size() != 1)
    return 1;
  const auto first_array = [](const Shape* shape) {
    while (shape->IsTuple() && !shape->elements().empty()) shape = &shape->element(0);
    return shape;
  };
  const Shape* result = &instruction.shape();
  if (opcode == Opcode::kAllGatherStart && result->IsTuple() && result->elements().size() > 1)
    result = &result->element(1);
  const Shape &small = *first_array(gathers ? &instruction.operand(0)->shape() : result),
              &large = *first_array(gathers ? result : &instruction.operand(0)->shape());
  const int64_t d = instruction.Get<attr::dimensions>()[0];
  if (!small.IsArray() || !large.IsArray() || small.rank() != large.rank() || d < 0 || d >= small.rank() ||
      small.dim(d) <= 0 || large.dim(d) % small.dim(d) != 0)
    return 1;
  return std::min(std::max<int64_t>(large.dim(d) / small.dim(d), 1), kMaxDevices + 1);
}

}  // namespace

std::string DeviceGrid::NameOf(int64_t id) const {
  return fmt::format("device {} (replica {}, partition {})", id, replica(id), partition(id));
}

DeviceGrid GridOf(const Module& module) {
  return {module.header().replica_count, module.header().num_partitions};
}

bool DependsOnDevices(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kAllGatherDone:
    case Opcode::kAllReduceDone:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kSendDone:
      return false;
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return true;
    case Opcode::kSend:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
      return !instruction.Get<attr::is_host_transfer>();
    default:
      return Info(instruction.opcode()).has(kCollective) || IsShapeConversion(instruction);
  }
}

bool DependsOnDevices(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (DependsOnDevices(*instruction)) return true;
    }
  }
  return false;
}

bool DependsOnPartitions(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!DependsOnDevices(*instruction)) continue;
      if (instruction->opcode() == Opcode::kPartitionId || IsShapeConversion(*instruction)) return true;
      if (instruction->opcode() != Opcode::kReplicaId &&
          GroupModeOf(*instruction) != GroupMode::kCrossReplica)
        return true;
    }
  }
  return false;
}

DeviceGrid SmallestGrid(const Module& module) {
  DeviceGrid grid;
  int64_t flattened = 1;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!DependsOnDevices(*instruction)) continue;
      if (IsShapeConversion(*instruction)) {
        grid.partitions = std::max(grid.partitions, PartitionsOf(*instruction));
        continue;
      }
      const int64_t ids = std::max(IdCount(*instruction), ImpliedGroupSize(*instruction));
      switch (GroupModeOf(*instruction)) {
        case GroupMode::kCrossReplica:
        case GroupMode::kCrossReplicaAndPartition:
          grid.replicas = std::max(grid.replicas, ids);
          break;
        case GroupMode::kCrossPartition:
          grid.partitions = std::max(grid.partitions, ids);
          break;
        case GroupMode::kFlattened:
          flattened = std::max(flattened, ids);
          break;
      }
    }
  }
  grid.partitions = std::max(grid.partitions, CeilDiv(flattened, grid.replicas));
  return grid;
}

absl::Status CheckSize(const DeviceGrid& grid) {
  if (grid.replicas < 1 || grid.partitions < 1) {
    return absl::InvalidArgumentError(fmt::format(
        "there are {} replicas and {} partitions, but each is at least 1", grid.replicas, grid.partitions));
  }
  if (grid.replicas > kMaxDevices || grid.partitions > kMaxDevices / grid.replicas) {
    return absl::ResourceExhaustedError(fmt::format("the run has {} and {}; the limit is {} devices",
                                                    Counted(grid.replicas, "replica"), grid.partitions,
                                                    kMaxDevices));
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceGrid> ChooseGrid(const Module& module, std::optional<int64_t> replicas,
                                      std::optional<int64_t> partitions, bool is_sharded) {
  DeviceGrid grid;
  const bool is_given =
      replicas.has_value() || partitions.has_value() || (is_sharded && IsPartitioned(module));
  if (is_given || (HasSeveralDevices(module) && DependsOnDevices(module)))
    grid = GridOf(module);
  else if (!HasSeveralDevices(module))
    grid = SmallestGrid(module);
  if (!is_given && !DependsOnPartitions(module)) grid.partitions = 1;
  grid = {replicas.value_or(grid.replicas), partitions.value_or(grid.partitions)};
  HLO_RETURN_IF_ERROR(CheckSize(grid));
  return grid;
}

}  // namespace hlo::spmd
