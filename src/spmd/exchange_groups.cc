#include "spmd/exchange_groups.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/device_groups.h"

namespace hlo::spmd {
namespace {

constexpr std::string_view kPairsKey = "_xla_send_recv_source_target_pairs";

absl::Status Wrong(const std::string& what) { return absl::FailedPreconditionError(what); }

// Names the flags that the module's groups need.
std::string Advice(const Module& module) {
  const DeviceGrid smallest = SmallestGrid(module);
  return fmt::format("the groups and pairs of the module fit --replicas {} --partitions {}",
                     smallest.replicas, smallest.partitions);
}

// Returns what the ids of a mode number, and how many of it the grid has.
std::pair<std::string_view, int64_t> Numbered(GroupMode mode, const DeviceGrid& grid) {
  switch (mode) {
    case GroupMode::kCrossReplica:
    case GroupMode::kCrossReplicaAndPartition:
      return {"replica", grid.replicas};
    case GroupMode::kCrossPartition:
      return {"partition", grid.partitions};
    case GroupMode::kFlattened:
      break;
  }
  return {"device", grid.count()};
}

bool NeedsEvenGroups(Opcode opcode) {
  return opcode != Opcode::kAllReduce && opcode != Opcode::kAllReduceStart &&
         opcode != Opcode::kCollectiveBroadcast && opcode != Opcode::kCollectiveReduce;
}

bool MayLeaveOut(Opcode opcode) {
  return opcode == Opcode::kCollectiveBroadcast || opcode == Opcode::kCollectiveReduce;
}

// Returns the groups of ids as they are written, or one group of all.
absl::StatusOr<std::vector<std::vector<int64_t>>> WrittenGroups(const Instruction& collective, GroupMode mode,
                                                                const DeviceGrid& grid) {
  const auto [what, count] = Numbered(mode, grid);
  const ReplicaGroups* written = collective.Get<attr::replica_groups>();
  const bool is_empty =
      written == nullptr || (written->form == ReplicaGroups::Form::kList && written->groups.empty());
  if (is_empty) {
    if (mode == GroupMode::kFlattened) return Wrong("use_global_device_ids needs replica_groups");
    std::vector<int64_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    return std::vector<std::vector<int64_t>>{std::move(all)};
  }
  std::vector<std::vector<int64_t>> groups = hlo::ExpandGroups(*written);
  if (groups.empty()) return Wrong("replica_groups is not a valid iota or mesh");
  std::vector<bool> seen(count);
  int64_t ids = 0;
  for (const std::vector<int64_t>& group : groups) {
    if (group.empty()) return Wrong("replica_groups has an empty group");
    if (NeedsEvenGroups(collective.opcode()) && group.size() != groups[0].size()) {
      return Wrong(fmt::format("{} needs groups of one size, but there are sizes {} and {}",
                               Name(collective.opcode()), groups[0].size(), group.size()));
    }
    for (const int64_t id : group) {
      if (id < 0 || id >= count) {
        return Wrong(fmt::format("replica_groups has the id {}, but the run has {}; {}", id,
                                 Counted(count, what), Advice(*collective.parent()->module())));
      }
      if (seen[id]) return Wrong(fmt::format("replica_groups has the id {} twice", id));
      seen[id] = true;
      ++ids;
    }
  }
  if (ids != count && !MayLeaveOut(collective.opcode())) {
    return Wrong(fmt::format("replica_groups has {} in {} mode, but the run has {}; {}", Counted(ids, "id"),
                             Name(mode), Counted(count, what), Advice(*collective.parent()->module())));
  }
  return groups;
}

// Returns the groups of all partitions of a replica.
Groups GroupsOfReplicas(const DeviceGrid& grid) {
  Groups groups;
  groups.members.resize(grid.replicas);
  for (int64_t id = 0; id < grid.count(); ++id) {
    groups.members[grid.replica(id)].push_back(id);
    groups.places.push_back(
        {static_cast<int32_t>(grid.replica(id)), static_cast<int32_t>(grid.partition(id))});
  }
  return groups;
}

}  // namespace

absl::StatusOr<Groups> ExpandGroups(const Instruction& collective, const DeviceGrid& grid) {
  if (IsShapeConversion(collective)) return GroupsOfReplicas(grid);
  const GroupMode mode = GroupModeOf(collective);
  if (mode == GroupMode::kFlattened && !HasChannel(collective))
    return Wrong("use_global_device_ids needs a channel_id");
  HLO_ASSIGN_OR_RETURN(const auto written, WrittenGroups(collective, mode, grid));
  Groups result;
  result.places.resize(grid.count());
  for (const std::vector<int64_t>& group : written) {
    std::vector<int64_t> members;
    switch (mode) {
      case GroupMode::kFlattened:
        result.members.push_back(group);
        break;
      case GroupMode::kCrossReplicaAndPartition:
        for (const int64_t r : group) {
          for (int64_t p = 0; p < grid.partitions; ++p) members.push_back(grid.Id(r, p));
        }
        result.members.push_back(std::move(members));
        break;
      case GroupMode::kCrossReplica:
        for (int64_t p = 0; p < grid.partitions; ++p) {
          members.clear();
          for (const int64_t r : group) members.push_back(grid.Id(r, p));
          result.members.push_back(members);
        }
        break;
      case GroupMode::kCrossPartition:
        for (int64_t r = 0; r < grid.replicas; ++r) {
          members.clear();
          for (const int64_t p : group) members.push_back(grid.Id(r, p));
          result.members.push_back(members);
        }
        break;
    }
  }
  for (size_t g = 0; g < result.members.size(); ++g) {
    for (size_t k = 0; k < result.members[g].size(); ++k)
      result.places[result.members[g][k]] = {static_cast<int32_t>(g), static_cast<int32_t>(k)};
  }
  return result;
}

std::string_view TransferPairsText(const Instruction& transfer) {
  const FrontendAttributes* attributes = transfer.Get<attr::frontend_attributes>();
  if (attributes == nullptr) return "";
  for (const KeyValue& entry : attributes->entries) {
    if (entry.key == kPairsKey) return entry.value;
  }
  return "";
}

absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> TransferPairs(const Instruction& transfer) {
  constexpr int64_t kLargest = int64_t{1} << 40;
  const std::string_view text = TransferPairsText(transfer);
  if (text.empty()) return Wrong(fmt::format("has no frontend attribute {}", kPairsKey));
  const absl::Status wrong =
      Wrong(fmt::format("its {} is '{}', which is not a list of pairs such as {{{{0,1}}}}", kPairsKey, text));
  size_t at = 0;
  const auto skip = [&](char c) {
    while (at < text.size() && text[at] == ' ') ++at;
    const bool found = at < text.size() && text[at] == c;
    at += found ? 1 : 0;
    return found;
  };
  const auto number = [&](int64_t* value) {
    while (at < text.size() && text[at] == ' ') ++at;
    const size_t begin = at;
    for (*value = 0; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0; ++at) {
      *value = *value * 10 + (text[at] - '0');
      if (*value > kLargest) return false;
    }
    return at > begin;
  };
  std::vector<std::pair<int64_t, int64_t>> pairs;
  if (!skip('{')) return wrong;
  while (!skip('}')) {
    if (!pairs.empty() && !skip(',')) return wrong;
    int64_t source = 0, target = 0;
    if (!skip('{') || !number(&source) || !skip(',') || !number(&target) || !skip('}')) return wrong;
    pairs.emplace_back(source, target);
  }
  while (at < text.size() && text[at] == ' ') ++at;
  if (at != text.size()) return wrong;
  return pairs;
}

absl::StatusOr<Routes> ExpandPairs(const Instruction& instruction, const DeviceGrid& grid) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  if (IsPermute(instruction.opcode())) {
    for (const IntList pair : instruction.Get<attr::source_target_pairs>()) {
      if (pair.size() != 2) return Wrong("source_target_pairs has an entry that is not a pair");
      pairs.emplace_back(pair[0], pair[1]);
    }
  } else {
    HLO_ASSIGN_OR_RETURN(pairs, TransferPairs(instruction));
  }
  const bool by_partition = HasChannel(instruction);
  const int64_t count = by_partition ? grid.partitions : grid.replicas;
  Routes routes;
  routes.sources.assign(grid.count(), -1);
  routes.targets.resize(grid.count());
  std::vector<bool> is_source(count), is_target(count);
  for (const auto& [source, target] : pairs) {
    if (source < 0 || target < 0 || std::max(source, target) >= count) {
      return Wrong(fmt::format("its pairs have the id {}, but the run has {}; {}", std::max(source, target),
                               Counted(count, by_partition ? "partition" : "replica"),
                               Advice(*instruction.parent()->module())));
    }
    if (is_target[target]) return Wrong(fmt::format("its pairs have the target {} twice", target));
    if (is_source[source]) return Wrong(fmt::format("its pairs have the source {} twice", source));
    is_target[target] = is_source[source] = true;
    for (int64_t other = 0; other < (by_partition ? grid.replicas : grid.partitions); ++other) {
      const int64_t from = by_partition ? grid.Id(other, source) : grid.Id(source, other);
      const int64_t to = by_partition ? grid.Id(other, target) : grid.Id(target, other);
      routes.sources[to] = from;
      routes.targets[from].push_back(to);
    }
  }
  return routes;
}

absl::Status ExchangeTable::Add(const Instruction& instruction) {
  if (IsDeviceId(instruction.opcode()) || instruction.opcode() == Opcode::kRecvDone) return absl::OkStatus();
  if (instruction.opcode() == Opcode::kRecv) {
    receives_.push_back(&instruction);
    numbers_[&instruction] = static_cast<uint32_t>(receives_.size());
  }
  const bool has_pairs = instruction.opcode() == Opcode::kSend || instruction.opcode() == Opcode::kRecv ||
                         IsPermute(instruction.opcode());
  if (has_pairs) {
    HLO_ASSIGN_OR_RETURN(Routes routes, ExpandPairs(instruction, grid_));
    routes_[&instruction] = std::make_unique<Routes>(std::move(routes));
  } else {
    HLO_ASSIGN_OR_RETURN(Groups groups, ExpandGroups(instruction, grid_));
    groups_[&instruction] = std::make_unique<Groups>(std::move(groups));
  }
  if (IsShapeConversion(instruction)) {
    HLO_ASSIGN_OR_RETURN(conversions_[&instruction], ConversionsOf(instruction, grid_.partitions));
  }
  return absl::OkStatus();
}

const Groups* ExchangeTable::groups(const Instruction& instruction) const {
  const auto found = groups_.find(&instruction);
  return found == groups_.end() ? nullptr : found->second.get();
}

const Routes* ExchangeTable::routes(const Instruction& instruction) const {
  const auto found = routes_.find(&instruction);
  return found == routes_.end() ? nullptr : found->second.get();
}

absl::Span<const ShapeConversion> ExchangeTable::conversions(const Instruction& instruction) const {
  const auto found = conversions_.find(&instruction);
  return found == conversions_.end() ? absl::Span<const ShapeConversion>() : found->second;
}

uint32_t ExchangeTable::NumberOf(const Instruction& receive) const {
  const auto found = numbers_.find(&receive);
  return found == numbers_.end() ? 0 : found->second;
}

const Instruction* ExchangeTable::Receive(uint32_t number) const {
  return number >= 1 && number <= receives_.size() ? receives_[number - 1] : nullptr;
}

}  // namespace hlo::spmd
