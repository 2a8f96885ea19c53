#include "spmd/device_grid.h"

#include <algorithm>

#include "base/status.h"
#include "fmt/format.h"
#include "ir/device_groups.h"
#include "spmd/conversions.h"
#include "spmd/exchange_groups.h"

namespace hlo::spmd {
namespace {

constexpr int64_t kMostDevices = 65536;

// Returns 1 + the largest id in groups or pairs; 0 without any.
int64_t IdCount(const Instruction& instruction) {
  int64_t count = 0;
  const auto add = [&](int64_t id) {
    count = std::max(count, id < kMostDevices ? id + 1 : kMostDevices + 1);
  };
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
      const int64_t ids = IdCount(*instruction);
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
  grid.partitions = std::max(grid.partitions, (flattened + grid.replicas - 1) / grid.replicas);
  return grid;
}

absl::Status CheckSize(const DeviceGrid& grid) {
  if (grid.replicas < 1 || grid.partitions < 1) {
    return absl::InvalidArgumentError(fmt::format(
        "there are {} replicas and {} partitions, but each is at least 1", grid.replicas, grid.partitions));
  }
  if (grid.replicas > kMostDevices || grid.partitions > kMostDevices / grid.replicas) {
    return absl::ResourceExhaustedError(
        fmt::format("there are {} replicas and {} partitions; the limit is {} devices", grid.replicas,
                    grid.partitions, kMostDevices));
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceGrid> ChooseGrid(const Module& module, std::optional<int64_t> replicas,
                                      std::optional<int64_t> partitions) {
  DeviceGrid grid;
  const bool is_given = replicas.has_value() || partitions.has_value();
  if (is_given || (HasSeveralDevices(module) && DependsOnDevices(module)))
    grid = GridOf(module);
  else if (!HasSeveralDevices(module))
    grid = SmallestGrid(module);
  grid = {replicas.value_or(grid.replicas), partitions.value_or(grid.partitions)};
  HLO_RETURN_IF_ERROR(CheckSize(grid));
  return grid;
}

}  // namespace hlo::spmd
