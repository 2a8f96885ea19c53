#pragma once
// The devices of a run: replicas and partitions (spmd 1).

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo_run/module.h"

namespace hlo::spmd {

// The device of replica r and partition p has the id r * partitions + p.
struct DeviceGrid {
  int64_t replicas = 1, partitions = 1;

  int64_t count() const { return replicas * partitions; }
  int64_t Id(int64_t replica, int64_t partition) const { return replica * partitions + partition; }
  int64_t replica(int64_t id) const { return id / partitions; }
  int64_t partition(int64_t id) const { return id % partitions; }
  // Returns `device 3 (replica 1, partition 1)`.
  std::string NameOf(int64_t id) const;

  bool operator==(const DeviceGrid&) const = default;
};

// Returns the counts in the module's header.
DeviceGrid GridOf(const Module& module);
// True if the header asks for several devices.
inline bool HasSeveralDevices(const Module& module) {
  return module.header().replica_count != 1 || module.header().num_partitions != 1;
}

// True for partition-id and replica-id.
inline bool IsDeviceId(Opcode opcode) {
  return opcode == Opcode::kPartitionId || opcode == Opcode::kReplicaId;
}
// True for collective-permute and its asynchronous start.
inline bool IsPermute(Opcode opcode) {
  return opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectivePermuteStart;
}

// True if the instruction's value depends on the device or on other devices: collectives, partition-id,
// replica-id, and sends and receives between devices. Instructions that complete a collective are not.
bool DependsOnDevices(const Instruction& instruction);
// True if an instruction of the module depends on devices.
bool DependsOnDevices(const Module& module);

// Returns the smallest grid whose ids include those of all groups and pairs of the module.
DeviceGrid SmallestGrid(const Module& module);

// Returns InvalidArgument for counts below 1, ResourceExhausted for more than 65536 devices.
absl::Status CheckSize(const DeviceGrid& grid);

// True if an instruction of the module depends on the partition, or on other partitions.
bool DependsOnPartitions(const Module& module);

// Returns the grid of a run: counts that are given, else those of the header, else the smallest that the
// module's groups and manual regions need. Without given counts, a module that depends on no devices gets one
// device, and a module that depends on no partitions gets one partition. The counts of a partitioned module
// also hold if `is_sharded`, which means that its arguments are whole arrays. Errors: those of CheckSize.
absl::StatusOr<DeviceGrid> ChooseGrid(const Module& module, std::optional<int64_t> replicas,
                                      std::optional<int64_t> partitions, bool is_sharded = false);

}  // namespace hlo::spmd
