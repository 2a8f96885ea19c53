#pragma once
// The devices of a collective: the mode, which defines the meaning of its ids, and the expansion of device
// lists that are written as an iota or as mesh axes (text-format 6.2, 8.9).

#include <cstdint>
#include <string_view>
#include <vector>

#include "hlo_run/attribute.h"
#include "hlo_run/module.h"

namespace hlo {

// The meaning of the ids in replica_groups or source_target_pairs: replicas, partitions, replicas with all of
// their partitions, or flattened ids `replica * partitions + partition`.
enum class GroupMode : uint8_t { kCrossReplica, kCrossPartition, kCrossReplicaAndPartition, kFlattened };

// True if the collective, send or recv has a channel. Ids below 1 mean none.
bool HasChannel(const Instruction& instruction);
// Returns the mode that channel_id and use_global_device_ids select. Global ids without a channel are an
// error, which the checker reports.
GroupMode GroupModeOf(const Instruction& instruction);
// Returns "cross-replica" and so on.
std::string_view Name(GroupMode mode);

// Returns the devices of an iota list in the order of its dimensions; none if its sizes are inconsistent or
// too large.
std::vector<int64_t> ExpandIota(IntList reshape_dims, IntList transpose_perm);
// Returns the number of devices of a mesh, or along axes of it. The parser has checked that they can be
// counted.
int64_t DeviceCount(const Mesh& mesh);
int64_t DeviceCount(const Mesh& mesh, absl::Span<const AxisRef> axes);
// Returns true if there are axes and they contain all devices of the mesh.
bool CoverMesh(const Mesh& mesh, absl::Span<const AxisRef> axes);
// Returns the groups as lists; none if axes or sizes are inconsistent.
std::vector<std::vector<int64_t>> ExpandGroups(const ReplicaGroups& groups);

}  // namespace hlo
