#pragma once
// Group modes, and the rules of replica groups and source-target pairs of collectives (shape-rules 3.26).

#include "check/rules.h"
#include "ir/device_groups.h"

namespace hlo::check {

// Returns the mode that channel_id and use_global_device_ids select; reports global ids without a channel.
GroupMode ModeOf(RuleContext& context);

enum class GroupSizes { kUniform, kAny };
// Reports groups that do not partition the devices 0..n-1 or contradict the module's replica and partition
// counts.
bool CheckReplicaGroups(RuleContext& context, GroupMode mode, GroupSizes sizes);

// Returns the number of devices in a group; 1 if unknown. CheckReplicaGroups must have succeeded.
int64_t SubgroupSize(RuleContext& context, GroupMode mode);

// Checks that the ids in source_target_pairs are in range and each is a source and a target at most `repeats`
// times.
bool CheckSourceTargetPairs(RuleContext& context, int64_t repeats);

}  // namespace hlo::check
