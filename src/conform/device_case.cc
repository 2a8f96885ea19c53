#include "conform/device_case.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "spmd/entry_shards.h"

namespace hlo::conform {
namespace {

std::string NameOf(const DeviceResults& results, size_t index) {
  if (results.are_joined) return fmt::format("replica {}", index);
  const DevicePlace& place = results.places[index];
  if (place.replicas == 1 || place.partitions == 1) return fmt::format("device {}", index);
  return fmt::format("device {} (replica {}, partition {})", index, place.replica, place.partition);
}

// Joins the results of the partitions of each replica.
absl::Status Join(const spmd::EntryShards& shards, const DeviceSetting& setting, DeviceResults* results,
                  Outcome* outcome) {
  DeviceResults joined{.are_joined = true};
  for (int64_t replica = 0; replica < setting.replicas; ++replica) {
    const auto parts = absl::MakeConstSpan(results->values)
                           .subspan(static_cast<size_t>(replica * setting.partitions),
                                    static_cast<size_t>(setting.partitions));
    HLO_ASSIGN_OR_RETURN(spmd::JoinedResult whole, shards.Join(parts));
    for (const std::string& disagreement : whole.disagreements) {
      outcome->verdict = Verdict::kFailed;
      outcome->report += disagreement + "\n";
    }
    joined.places.push_back({setting.replicas, 1, replica, 0});
    joined.values.push_back(std::move(whole.value));
  }
  *results = std::move(joined);
  return absl::OkStatus();
}

}  // namespace

DevicePlace DeviceSetting::PlaceOf(int64_t device) const {
  return {replicas, partitions, device / partitions, device % partitions};
}

absl::StatusOr<DeviceResults> RunOnDevices(const CheckedModule& module, const DeviceSetting& setting,
                                           ArgumentsOfDevice arguments_of, const EvaluateDevicesFn& evaluate,
                                           Outcome* outcome) {
  if (!evaluate) {
    return absl::UnimplementedError(fmt::format("needs {} and {}; one device is evaluated",
                                                Counted(setting.replicas, "replica"),
                                                Counted(setting.partitions, "partition")));
  }
  std::optional<spmd::EntryShards> shards;
  std::vector<Shape> shapes;
  if (setting.shard) {
    HLO_ASSIGN_OR_RETURN(shards, spmd::EntryShards::Make(module.module(), setting.partitions));
    shapes = shards->parameters();
  } else {
    for (const Instruction* parameter : module.module().entry()->parameters())
      shapes.push_back(parameter->shape());
  }
  DeviceResults results;
  std::vector<std::vector<Literal>> arguments;
  for (int64_t device = 0; device < setting.replicas * setting.partitions; ++device) {
    results.places.push_back(setting.PlaceOf(device));
    HLO_ASSIGN_OR_RETURN(std::vector<Literal> device_arguments, arguments_of(results.places.back(), shapes));
    if (shards) {
      HLO_ASSIGN_OR_RETURN(device_arguments, shards->Split(device_arguments, device % setting.partitions));
    }
    arguments.push_back(std::move(device_arguments));
  }
  HLO_ASSIGN_OR_RETURN(results.values, evaluate(module, std::move(arguments), setting.emulates_xla_cpu));
  if (shards && shards->CanJoin()) HLO_RETURN_IF_ERROR(Join(*shards, setting, &results, outcome));
  return results;
}

absl::Status CompareDevices(const DeviceResults& results,
                            absl::FunctionRef<absl::Status(size_t index, Outcome* outcome)> compare,
                            Outcome* outcome) {
  for (size_t i = 0; i < results.values.size(); ++i) {
    Outcome one;
    HLO_RETURN_IF_ERROR(compare(i, &one));
    if (one.verdict == Verdict::kFailed) outcome->verdict = Verdict::kFailed;
    if (!one.report.empty()) outcome->report += fmt::format("{}:\n{}", NameOf(results, i), one.report);
  }
  return absl::OkStatus();
}

std::string KeyFor(const Archive& archive, const std::string& prefix, const DevicePlace& place,
                   const std::string& key) {
  std::vector<std::string> candidates = {prefix + key};
  if (place.replicas > 1 || place.partitions > 1) {
    candidates = {fmt::format("{}r{}p{}/{}", prefix, place.replica, place.partition, key),
                  fmt::format("{}r{}/{}", prefix, place.replica, key),
                  fmt::format("{}p{}/{}", prefix, place.partition, key), prefix + key};
  }
  for (std::string& candidate : candidates) {
    if (std::find(archive.keys().begin(), archive.keys().end(), candidate) != archive.keys().end())
      return std::move(candidate);
  }
  return "";
}

absl::Status CompareStored(Archive& archive, const std::string& prefix, const DeviceResults& results,
                           absl::FunctionRef<CompareRule(const std::string& key)> rule_of, Outcome* outcome) {
  std::set<std::string> used;
  const auto compare = [&](size_t index, Outcome* one) -> absl::Status {
    for (const LiteralLeaf& leaf : ArrayLeaves(results.values[index])) {
      const std::string key = KeyFor(archive, prefix, results.places[index], leaf.key);
      if (key.empty()) {
        one->verdict = Verdict::kFailed;
        one->report += fmt::format("the archive has no array {}{}\n", prefix, leaf.key);
        continue;
      }
      used.insert(key);
      HLO_ASSIGN_OR_RETURN(const Literal want, archive.Read(key, leaf.value->shape()));
      CompareReport report = CompareArrays(*leaf.value, want, rule_of(leaf.key));
      report.key = leaf.key;
      AddComparison(report, one);
    }
    return absl::OkStatus();
  };
  HLO_RETURN_IF_ERROR(CompareDevices(results, compare, outcome));
  for (const std::string& key : archive.keys()) {
    if (!key.starts_with(prefix) || used.contains(key)) continue;
    outcome->verdict = Verdict::kFailed;
    outcome->report += fmt::format("the archive has {}, which no device returns\n", key);
  }
  return absl::OkStatus();
}

}  // namespace hlo::conform
