#include "check/replica_groups.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kReplicaGroupsRule = "3.26";

const ModuleHeader& HeaderOf(const RuleContext& c) { return c.instruction().parent()->module()->header(); }

// Returns nullopt on overflow.
std::optional<int64_t> Product(IntList sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return std::nullopt;
  }
  return product;
}

std::optional<int64_t> MeshSize(const Mesh& mesh) {
  int64_t product = 1;
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.size < 0 || __builtin_mul_overflow(product, axis.size, &product)) return std::nullopt;
  }
  return product;
}

std::optional<int64_t> MeshGroupSize(const ReplicaGroups& groups) {
  int64_t product = 1;
  for (const AxisRef& ref : groups.axes) {
    if (!InRange(ref.axis, static_cast<int64_t>(groups.mesh->axes.size()))) return std::nullopt;
    const int64_t size = ref.size != 0 ? ref.size : groups.mesh->axes[ref.axis].size;
    if (size <= 0 || __builtin_mul_overflow(product, size, &product)) return std::nullopt;
  }
  return product;
}

bool IsExplicit(const ReplicaGroups* groups) {
  return groups != nullptr && (groups->form != ReplicaGroups::Form::kList || !groups->groups.empty());
}

// Returns the number of ids in explicit groups; nullopt on overflow.
std::optional<int64_t> IdCount(const ReplicaGroups& groups) {
  switch (groups.form) {
    case ReplicaGroups::Form::kIota:
      return Product(groups.iota->dims);
    case ReplicaGroups::Form::kMesh:
      return MeshSize(*groups.mesh);
    case ReplicaGroups::Form::kList:
      break;
  }
  int64_t count = 0;
  for (IntList group : groups.groups) count += static_cast<int64_t>(group.size());
  return count;
}

// Checks that the groups are non-empty and contain each of 0..count-1 once.
bool IdsArePartition(RuleContext& c, const ReplicaGroups& groups, int64_t count) {
  const SourceRange at = c.range_of<attr::replica_groups>();
  std::vector<bool> seen(static_cast<size_t>(count));
  for (IntList group : groups.groups) {
    if (group.empty()) {
      c.Error(at, kReplicaGroupsRule, "replica_groups has an empty group");
      return false;
    }
    for (int64_t id : group) {
      if (!InRange(id, count)) {
        c.Error(at, kReplicaGroupsRule, "replica_groups names {} ids, so they must be 0..{}, but one is {}",
                count, count - 1, id);
        return false;
      }
      if (seen[id]) {
        c.Error(at, kReplicaGroupsRule, "replica_groups has the id {} twice", id);
        return false;
      }
      seen[id] = true;
    }
  }
  return true;
}

bool ListIsUniform(RuleContext& c, const ReplicaGroups& groups) {
  for (IntList group : groups.groups) {
    if (group.size() == groups.groups[0].size()) continue;
    c.Error(c.range_of<attr::replica_groups>(), kReplicaGroupsRule,
            "{} needs groups of one size, but there are sizes {} and {}", Name(c.instruction().opcode()),
            groups.groups[0].size(), group.size());
    return false;
  }
  return true;
}

// Returns the number of devices that the groups of a mode must cover.
int64_t DeviceCount(const ModuleHeader& header, GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossReplica:
    case GroupMode::kCrossReplicaAndPartition:
      return header.replica_count;
    case GroupMode::kCrossPartition:
      return header.num_partitions;
    case GroupMode::kFlattened:
      break;
  }
  int64_t product = 1;
  return __builtin_mul_overflow(header.replica_count, header.num_partitions, &product) ? -1 : product;
}

}  // namespace

GroupMode ModeOf(RuleContext& c) {
  const Instruction& instruction = c.instruction();
  if (instruction.Get<attr::use_global_device_ids>() && !HasChannel(instruction)) {
    c.Error(c.range_of<attr::use_global_device_ids>(), kReplicaGroupsRule,
            "use_global_device_ids needs a channel_id, which {} lacks", Name(instruction.opcode()));
  }
  return GroupModeOf(instruction);
}

bool CheckReplicaGroups(RuleContext& c, GroupMode mode, GroupSizes sizes) {
  const ReplicaGroups* groups = c.Get<attr::replica_groups>();
  const SourceRange at = c.range_of<attr::replica_groups>();
  if (!IsExplicit(groups)) {
    if (mode != GroupMode::kFlattened) return true;
    c.Error(at, kReplicaGroupsRule, "{} with use_global_device_ids needs explicit replica_groups",
            Name(c.instruction().opcode()));
    return false;
  }
  const std::optional<int64_t> count = IdCount(*groups);
  if (!count) {
    c.Error(at, kReplicaGroupsRule, "replica_groups has more ids than a device can be numbered with");
    return false;
  }
  if (groups->form == ReplicaGroups::Form::kList) {
    if (!IdsArePartition(c, *groups, *count)) return false;
    if (sizes == GroupSizes::kUniform && !ListIsUniform(c, *groups)) return false;
  }
  const int64_t devices = DeviceCount(HeaderOf(c), mode);
  if (devices != 1 && *count != devices) {
    c.ErrorIfStrict(at, kReplicaGroupsRule, "replica_groups has {} ids, but in {} mode the module has {}",
                    *count, Name(mode), devices);
  }
  return true;
}

int64_t SubgroupSize(RuleContext& c, GroupMode mode) {
  const ReplicaGroups* groups = c.Get<attr::replica_groups>();
  const ModuleHeader& header = HeaderOf(c);
  int64_t size = mode == GroupMode::kCrossPartition ? header.num_partitions : header.replica_count;
  if (IsExplicit(groups)) {
    switch (groups->form) {
      case ReplicaGroups::Form::kIota:
        size = groups->iota->dims.size() == 2 ? groups->iota->dims[1] : 1;
        break;
      case ReplicaGroups::Form::kMesh:
        size = MeshGroupSize(*groups).value_or(1);
        break;
      case ReplicaGroups::Form::kList:
        size = static_cast<int64_t>(groups->groups[0].size());
        break;
    }
  }
  if (mode == GroupMode::kCrossReplicaAndPartition &&
      __builtin_mul_overflow(size, header.num_partitions, &size)) {
    return 1;
  }
  return size;
}

bool CheckSourceTargetPairs(RuleContext& c, int64_t repeats) {
  const IntLists pairs = c.Get<attr::source_target_pairs>();
  const SourceRange at = c.range_of<attr::source_target_pairs>();
  std::vector<int64_t> ends[2];
  for (IntList pair : pairs) {
    if (pair.size() != 2 || pair[0] < 0 || pair[1] < 0) {
      c.Error(at, kReplicaGroupsRule, "source_target_pairs needs pairs of ids from 0, but has {}",
              Text(pair));
      return false;
    }
    ends[0].push_back(pair[0]);
    ends[1].push_back(pair[1]);
  }
  const ModuleHeader& header = HeaderOf(c);
  const int64_t limit = HasChannel(c.instruction()) ? header.num_partitions : header.replica_count;
  bool ok = true;
  for (int end = 0; end < 2; ++end) {
    std::vector<int64_t>& ids = ends[end];
    std::sort(ids.begin(), ids.end());
    if (limit != 1 && !ids.empty() && ids.back() >= limit) {
      c.ErrorIfStrict(at, kReplicaGroupsRule, "source_target_pairs names device {}, but the module has {}",
                      ids.back(), limit);
    }
    for (size_t i = static_cast<size_t>(repeats); i < ids.size(); ++i) {
      if (ids[i] != ids[i - repeats]) continue;
      c.Error(at, kReplicaGroupsRule, "source_target_pairs has {} more than {} as a {}", ids[i],
              repeats == 1 ? "once" : fmt::format("{} times", repeats), end == 0 ? "source" : "target");
      ok = false;
      break;
    }
  }
  return ok;
}

}  // namespace hlo::check
