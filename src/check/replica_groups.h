#pragma once
// Who takes part in a collective? Group modes and the rules of replica groups and source-target pairs
// (shape-rules 3.26).

#include "check/rules.h"

namespace hlo::check {

enum class GroupMode { kCrossReplica, kCrossPartition, kCrossReplicaAndPartition, kFlattened };

// By the attributes channel_id and use_global_device_ids; reports global ids without a channel.
GroupMode ModeOf(RuleContext& context);

enum class GroupSizes { kUniform, kAny };
// Reports groups that are no partition of the devices 0..n-1, or whose count the module's counts contradict.
bool CheckReplicaGroups(RuleContext& context, GroupMode mode, GroupSizes sizes);

// Devices in one group: 1 where that is not known. Groups must have been checked.
int64_t SubgroupSize(RuleContext& context, GroupMode mode);

// Ids of source_target_pairs in range, each at most `repeats` times a source and a target.
bool CheckSourceTargetPairs(RuleContext& context, int64_t repeats);

}  // namespace hlo::check
